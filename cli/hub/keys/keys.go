// Package keys keeps the users of a hub: their names, roles and NKeys. A user's seed is in a file
// of its own; the hub has only the public keys. The package also derives from the roles what each
// user may publish and receive. It does not connect to anything.
package keys

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

// Role is what a user may do. Roles add up.
type Role string

// The roles.
const (
	Admin     Role = "admin"     // everything
	Worker    Role = "worker"    // runs the jobs of one workspace
	Submitter Role = "submitter" // submits and cancels jobs
	Approver  Role = "approver"  // sees sessions, and answers their questions
	Viewer    Role = "viewer"    // sees sessions
)

// Roles returns all roles.
func Roles() []Role { return []Role{Admin, Worker, Submitter, Approver, Viewer} }

// User is a user of the hub.
type User struct {
	Name      string `json:"name"` // one token of a subject, and the actor of answers
	Roles     []Role `json:"roles"`
	Workspace string `json:"workspace,omitempty"` // of a worker
	Key       string `json:"key"`                 // public NKey
	Token     string `json:"token,omitempty"`     // SHA-256 of the token for the web page, in hex; "": none
}

// Has reports whether u has a role.
func (u User) Has(r Role) bool { return slices.Contains(u.Roles, r) }

// Dir is the directory of a hub's users: users.json, and seeds below keys.
type Dir string

func (d Dir) users() string { return filepath.Join(string(d), "users.json") }

// Seed returns the path of a user's seed.
func (d Dir) Seed(name string) string { return filepath.Join(string(d), "keys", name+".nk") }

// Users returns the users, by name.
func (d Dir) Users() ([]User, error) {
	data, err := os.ReadFile(d.users())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("keys: read users: %w", err)
	}
	var all []User
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("keys: read %s: %w", d.users(), err)
	}
	for _, u := range all {
		if err := check(u); err != nil {
			return nil, fmt.Errorf("keys: read %s: %w", d.users(), err)
		}
	}
	return all, nil
}

func check(u User) error {
	if err := natsbus.CheckToken(u.Name); err != nil {
		return err
	}
	if len(u.Roles) == 0 {
		return fmt.Errorf("keys: the user %s has no role: give one of %v", u.Name, Roles())
	}
	for _, r := range u.Roles {
		if !slices.Contains(Roles(), r) {
			return fmt.Errorf("keys: the role %.40q of the user %s is unknown: give one of %v", r, u.Name, Roles())
		}
	}
	switch {
	case !nkeys.IsValidPublicUserKey(u.Key):
		return fmt.Errorf("keys: the key of the user %s is invalid", u.Name)
	case u.Has(Worker) && len(u.Roles) > 1:
		return fmt.Errorf("keys: the worker %s has a second role: create another user for it", u.Name)
	case u.Has(Worker):
		return natsbus.CheckToken(u.Workspace)
	case u.Workspace != "":
		return fmt.Errorf("keys: the user %s has a workspace and is no worker: omit the workspace", u.Name)
	}
	return nil
}

// Add creates a user with a new key, and returns the path of the seed.
func (d Dir) Add(u User) (seed string, err error) {
	unlock, err := d.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", fmt.Errorf("keys: create a key: %w", err)
	}
	defer pair.Wipe()
	secret, err := pair.Seed()
	if err != nil {
		return "", fmt.Errorf("keys: create a key: %w", err)
	}
	if u.Key, err = pair.PublicKey(); err != nil {
		return "", fmt.Errorf("keys: create a key: %w", err)
	}
	if err := check(u); err != nil {
		return "", err
	}
	all, err := d.Users()
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(o User) bool { return o.Name == u.Name }) {
		return "", fmt.Errorf("keys: the user %s exists: remove it first, or choose another name", u.Name)
	}
	seed = d.Seed(u.Name)
	if err := os.MkdirAll(filepath.Dir(seed), 0o700); err != nil {
		return "", fmt.Errorf("keys: create a user: %w", err)
	}
	if err := os.WriteFile(seed, append(secret, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("keys: create a user: %w", err)
	}
	return seed, d.save(append(all, u))
}

// NewToken gives a user a new token for the web page, and returns it. The old one is invalid then.
func (d Dir) NewToken(name string) (string, error) {
	unlock, err := d.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	all, err := d.Users()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(u User) bool { return u.Name == name })
	if i < 0 {
		return "", fmt.Errorf("keys: there is no user %.140q: fettle-hub keys list lists the users", name)
	}
	token := bus.NewID() + bus.NewID()
	all[i].Token = tokenHash(token)
	return token, d.save(all)
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ByToken returns the user with a token.
func ByToken(all []User, token string) (User, bool) {
	hash := tokenHash(token)
	found, ok := User{}, false
	for _, u := range all { // all, so that the time does not depend on the place
		if u.Token != "" && subtle.ConstantTimeCompare([]byte(u.Token), []byte(hash)) == 1 {
			found, ok = u, true
		}
	}
	return found, ok
}

// Remove deletes a user and its seed.
func (d Dir) Remove(name string) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := d.Users()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(u User) bool { return u.Name == name })
	if i < 0 {
		return fmt.Errorf("keys: there is no user %.140q: fettle-hub keys list lists the users", name)
	}
	if err := d.save(slices.Delete(all, i, i+1)); err != nil {
		return err
	}
	if err := os.Remove(d.Seed(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keys: remove the seed: %w", err)
	}
	return nil
}

// lock waits until no other process changes the users.
func (d Dir) lock() (unlock func(), err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("keys: create the directory: %w", err)
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(20 * time.Millisecond) {
		unlock, err = TryLock(d.users() + ".lock")
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return unlock, err
		}
	}
}

// lockTime is the time by which another process must have changed the users.
const lockTime = 10 * time.Second

// ErrLocked is returned for a file that another process has locked.
var ErrLocked = errors.New("keys: another process has locked the file")

func (d Dir) save(all []User) error {
	slices.SortFunc(all, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("keys: save users: %w", err)
	}
	temp := d.users() + ".new"
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keys: save users: %w", err)
	}
	if err := os.Rename(temp, d.users()); err != nil {
		return fmt.Errorf("keys: save users: %w", err)
	}
	return nil
}

// Load returns the key pair of a seed file. Other users must not be able to read the file.
func Load(path string) (nkeys.KeyPair, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keys: there is no key %s: the first fettle-hub serve creates that of admin, and fettle-hub keys add those of others; --key names another file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("keys: read the seed: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return nil, fmt.Errorf("keys: other users can read the seed %s: run chmod 600 on it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("keys: read the seed: %w", err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(data))))
	if err != nil {
		return nil, fmt.Errorf("keys: the file %s has no seed of an NKey: %w", path, err)
	}
	return pair, nil
}
