//go:build !linux

package memtemp

import "errors"

const memory = ""

func suitable(string) bool { return false }

func create(string) (string, func(), error) { return "", nil, errors.ErrUnsupported }
