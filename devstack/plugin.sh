#!/usr/bin/env bash
# DevStack plugin: ovnlb as Octavia's provider `ovn`, with the reconciler in octavia-driver-agent.
# DevStack sources it with the phase as arguments; the functions it calls are DevStack's.

ovnlb_remote() {
    local protocol=tcp
    if is_service_enabled tls-proxy; then protocol=ssl; fi
    echo "$protocol:$SERVICE_HOST:$1"
}

ovnlb_install() {
    # Two distributions with one provider name make octavia-api load neither.
    pip_uninstall ovn-octavia-provider || true
    setup_develop "$OVNLB_DIR"
}

ovnlb_configure() {
    local database
    iniset "$OCTAVIA_CONF" api_settings enabled_provider_drivers "$OCTAVIA_PROVIDER_DRIVERS"
    iniset "$OCTAVIA_CONF" driver_agent enabled_provider_agents "$OCTAVIA_PROVIDER_AGENTS"
    iniset "$OCTAVIA_CONF" ovn ovn_nb_connection "${OVN_NB_REMOTE:-$(ovnlb_remote 6641)}"
    iniset "$OCTAVIA_CONF" ovn ovn_sb_connection "${OVN_SB_REMOTE:-$(ovnlb_remote 6642)}"
    if is_service_enabled tls-proxy; then
        for database in nb sb; do
            iniset "$OCTAVIA_CONF" ovn "ovn_${database}_ca_cert" "$INT_CA_DIR/ca-chain.pem"
            iniset "$OCTAVIA_CONF" ovn "ovn_${database}_certificate" "$INT_CA_DIR/$DEVSTACK_CERT_NAME.crt"
            iniset "$OCTAVIA_CONF" ovn "ovn_${database}_private_key" "$INT_CA_DIR/private/$DEVSTACK_CERT_NAME.key"
        done
    fi
}

if [[ "${NEUTRON_AGENT:-ovn}" == "ovn" ]]; then
    case "${1:-} ${2:-}" in
        "stack install") ovnlb_install ;;
        "stack post-config") ovnlb_configure ;;
    esac
fi
