#!/bin/sh
# Keeps private keys out of the project.
if grep -q 'BEGIN PRIVATE KEY'; then
	echo "A private key does not belong into the project (looked at with depth $REVIEW_DEPTH)." >&2
	exit 2
fi
