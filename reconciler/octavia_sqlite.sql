-- The tables of Octavia's database that ovnlb reads, for SQLite: columns, nullability, keys and
-- defaults as `octavia-db-manage upgrade head` of Octavia 19.0.0 makes them on MariaDB. Lookup tables
-- and foreign keys are left out.

CREATE TABLE load_balancer (
  project_id varchar(36),
  id varchar(36) NOT NULL,
  name varchar(255),
  description varchar(255),
  provisioning_status varchar(16) NOT NULL,
  operating_status varchar(16) NOT NULL,
  enabled boolean NOT NULL,
  topology varchar(36),
  server_group_id varchar(36),
  created_at datetime,
  updated_at datetime,
  provider varchar(64),
  flavor_id varchar(36),
  availability_zone varchar(255),
  PRIMARY KEY (id)
);

CREATE TABLE vip (
  load_balancer_id varchar(36) NOT NULL,
  ip_address varchar(64),
  port_id varchar(36),
  subnet_id varchar(36),
  network_id varchar(36),
  qos_policy_id varchar(36),
  octavia_owned boolean,
  vnic_type varchar(64) NOT NULL DEFAULT 'normal',
  PRIMARY KEY (load_balancer_id)
);

CREATE TABLE additional_vip (
  load_balancer_id varchar(36) NOT NULL,
  ip_address varchar(64),
  port_id varchar(36),
  subnet_id varchar(36) NOT NULL,
  network_id varchar(36),
  PRIMARY KEY (load_balancer_id,subnet_id)
);

CREATE TABLE listener (
  project_id varchar(36),
  id varchar(36) NOT NULL,
  name varchar(255),
  description varchar(255),
  protocol varchar(16) NOT NULL,
  protocol_port integer NOT NULL,
  connection_limit integer,
  load_balancer_id varchar(36),
  tls_certificate_id varchar(255),
  default_pool_id varchar(36),
  provisioning_status varchar(16) NOT NULL,
  operating_status varchar(16) NOT NULL,
  enabled boolean NOT NULL,
  peer_port integer,
  insert_headers blob,
  created_at datetime,
  updated_at datetime,
  timeout_client_data integer,
  timeout_member_connect integer,
  timeout_member_data integer,
  timeout_tcp_inspect integer,
  client_ca_tls_certificate_id varchar(255),
  client_authentication varchar(10) NOT NULL DEFAULT 'NONE',
  client_crl_container_id varchar(255),
  tls_ciphers varchar(2048),
  tls_versions varchar(512),
  alpn_protocols varchar(512),
  hsts_max_age integer,
  hsts_include_subdomains boolean,
  hsts_preload boolean,
  PRIMARY KEY (id),
  UNIQUE (load_balancer_id, protocol, protocol_port)
);

CREATE TABLE pool (
  project_id varchar(36),
  id varchar(36) NOT NULL,
  name varchar(255),
  description varchar(255),
  protocol varchar(16) NOT NULL,
  lb_algorithm varchar(255) NOT NULL,
  operating_status varchar(16) NOT NULL,
  enabled boolean NOT NULL,
  load_balancer_id varchar(36),
  created_at datetime,
  updated_at datetime,
  provisioning_status varchar(16) NOT NULL,
  tls_certificate_id varchar(255),
  ca_tls_certificate_id varchar(255),
  crl_container_id varchar(255),
  tls_enabled boolean NOT NULL DEFAULT 0,
  tls_ciphers varchar(2048),
  tls_versions varchar(512),
  alpn_protocols varchar(512),
  PRIMARY KEY (id)
);

CREATE TABLE session_persistence (
  pool_id varchar(36) NOT NULL,
  type varchar(16) NOT NULL,
  cookie_name varchar(255),
  persistence_timeout integer,
  persistence_granularity varchar(64),
  PRIMARY KEY (pool_id)
);

CREATE TABLE member (
  project_id varchar(36),
  id varchar(36) NOT NULL,
  pool_id varchar(36) NOT NULL,
  subnet_id varchar(36),
  ip_address varchar(64),
  protocol_port integer NOT NULL,
  weight integer,
  operating_status varchar(16) NOT NULL,
  enabled boolean NOT NULL,
  created_at datetime,
  updated_at datetime,
  provisioning_status varchar(16) NOT NULL,
  name varchar(255),
  monitor_address varchar(64),
  monitor_port integer,
  backup boolean NOT NULL,
  vnic_type varchar(64) NOT NULL DEFAULT 'normal',
  PRIMARY KEY (id),
  UNIQUE (pool_id, ip_address, protocol_port)
);

CREATE TABLE health_monitor (
  pool_id varchar(36) NOT NULL,
  type varchar(36) NOT NULL,
  delay integer NOT NULL,
  timeout integer NOT NULL,
  fall_threshold integer NOT NULL,
  rise_threshold integer NOT NULL,
  http_method varchar(16),
  url_path varchar(255),
  expected_codes varchar(64),
  enabled boolean NOT NULL,
  project_id varchar(36),
  provisioning_status varchar(16) NOT NULL,
  name varchar(255),
  id varchar(36) NOT NULL,
  created_at datetime,
  updated_at datetime,
  operating_status varchar(16) NOT NULL,
  http_version float,
  domain_name varchar(255),
  PRIMARY KEY (id),
  UNIQUE (pool_id)
);

CREATE TABLE l7policy (
  id varchar(36) NOT NULL,
  name varchar(255),
  description varchar(255),
  listener_id varchar(36) NOT NULL,
  action varchar(36) NOT NULL,
  redirect_pool_id varchar(36),
  redirect_url varchar(255),
  position integer NOT NULL,
  enabled boolean NOT NULL,
  provisioning_status varchar(16) NOT NULL,
  created_at datetime,
  updated_at datetime,
  project_id varchar(36),
  operating_status varchar(16) NOT NULL,
  redirect_prefix varchar(255),
  redirect_http_code integer,
  PRIMARY KEY (id)
);

CREATE TABLE l7rule (
  id varchar(36) NOT NULL,
  l7policy_id varchar(36) NOT NULL,
  type varchar(36) NOT NULL,
  compare_type varchar(36) NOT NULL,
  "key" varchar(255),
  value varchar(255) NOT NULL,
  invert boolean NOT NULL,
  provisioning_status varchar(16) NOT NULL,
  created_at datetime,
  updated_at datetime,
  project_id varchar(36),
  enabled boolean NOT NULL DEFAULT 1,
  operating_status varchar(16) NOT NULL,
  PRIMARY KEY (id)
);

CREATE INDEX ix_load_balancer_provisioning_status ON load_balancer (provisioning_status);
CREATE INDEX ix_listener_default_pool_id ON listener (default_pool_id);
CREATE INDEX ix_pool_load_balancer_id ON pool (load_balancer_id);
CREATE INDEX ix_l7policy_listener_id ON l7policy (listener_id);
CREATE INDEX ix_l7rule_l7policy_id ON l7rule (l7policy_id);
