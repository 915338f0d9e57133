// Package keychain stores secrets in the keychain of the system: the Secret Service on
// Linux, the Keychain of macOS, the Credential Manager of Windows. It starts no program
// that offers such a service.
package keychain

import (
	"context"
	"errors"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/fettle-dev/fettle/core/services/credentials"
)

// service is the name under which the keychain has the secrets.
const service = "fettle"

// longest is the time that the keychain may take; the user may have to unlock it.
const longest = 20 * time.Second

// errSlow is the error of a keychain that did not answer in time.
var errSlow = errors.New("it did not answer in time")

// system is the keychain of the user who runs the program.
type system struct{}

// System returns the keychain. It is nil where the system offers none to this process.
func System() credentials.Keychain {
	if !offered() {
		return nil
	}
	return system{}
}

// Get implements [credentials.Keychain].
func (system) Get(ctx context.Context, account string) (string, error) {
	secret, err := bounded(ctx, func() (string, error) { return keyring.Get(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	return secret, err
}

// Set implements [credentials.Keychain]. It reads the secret again.
func (k system) Set(ctx context.Context, account, secret string) error {
	_, err := bounded(ctx, func() (string, error) { return "", keyring.Set(service, account, secret) })
	if err != nil {
		return err
	}
	if stored, err := k.Get(ctx, account); err != nil || stored != secret {
		return errors.Join(errors.New("it does not return what was stored"), err)
	}
	return nil
}

// Delete implements [credentials.Keychain].
func (system) Delete(ctx context.Context, account string) error {
	_, err := bounded(ctx, func() (string, error) { return "", keyring.Delete(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// bounded calls the keychain, which cannot be cancelled, and waits for it until ctx ends,
// at most the longest time. A call that is abandoned ends with the program.
func bounded(ctx context.Context, call func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := call()
		done <- result{text, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, longest, errSlow)
	defer cancel()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", errSlow
		}
		return "", ctx.Err()
	}
}
