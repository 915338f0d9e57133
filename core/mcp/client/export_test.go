package client

import "time"

// SetProbe sets how long the client waits for server/discover.
func (d *Dialer) SetProbe(limit time.Duration) { d.probe = limit }
