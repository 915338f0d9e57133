package client

import "time"

// SetProbe sets how long server/discover may go without an answer.
func (d *Dialer) SetProbe(limit time.Duration) { d.probe = limit }
