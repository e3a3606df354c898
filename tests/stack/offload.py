"""Switch checksum and segmentation offload of one interface off: the userspace datapath needs real
checksums on veth.
"""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
STXCSUM, STSO, SGSO, SGRO = 0x17, 0x1F, 0x24, 0x2C

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    for command in (STXCSUM, STSO, SGSO, SGRO):
        value = array.array("B", struct.pack("II", command, 0))
        request = struct.pack("16sP16x", sys.argv[1].encode(), value.buffer_info()[0])
        try:
            fcntl.ioctl(control, SIOCETHTOOL, request)
        except OSError as error:
            if command == STXCSUM:
                sys.exit(f"{sys.argv[1]}: transmit checksum offload stays on: {error}")
