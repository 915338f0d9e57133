package config

import "github.com/fettle-dev/fettle/core/bus"

// StartNewSession begins a new conversation in this Config, as /clear or
// resuming a saved history does (AR-04): the cache, the tracker and the todos are
// cleared, remote agents are spoken to anew, tools that were searched for are no
// longer declared, no skill is active, and versions start again, above
// highestVersion, which is 0 for an empty history. id "" means a random one; it
// returns the id. Derived Configs are not touched (RC-23).
func (c *Config) StartNewSession(id string, highestVersion int64) (string, error) {
	s, err := c.own("StartNewSession")
	if err != nil {
		return "", err
	}
	if id == "" {
		id = bus.NewID()
	}
	s.state.StartSession(highestVersion)
	s.tracker.ClearSession()
	s.told = 0
	s.todos.Clear()
	s.catalog.Reset()
	s.skills.clear()
	s.ended.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionID = id
	return id, nil
}

// Compacted is called once compaction has replaced the history (RC-22): the
// cache of this Config is cleared, since what it says was shown is gone.
// Versions go on, and given instructions stay given (CR-19, FT-17).
func (c *Config) Compacted() error {
	s, err := c.own("Compacted")
	if err != nil {
		return err
	}
	s.forgetFiles()
	return nil
}
