#!/bin/sh
# A compiler that makes nothing, for the stand-in of the driver.
[ "$1" = --version ] && echo ', V13.0' && exit 0
printf '.version 9.0\n.target sm_90\n' > output
