package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/services/instructions"
)

// InstructionFiles returns the instruction files that this conversation has: those
// of its beginning, then those that accesses have brought up. The error is of code
// not_initialized or cancelled.
func (c *Config) InstructionFiles(ctx context.Context) ([]instructions.Document, error) {
	s, err := c.own("InstructionFiles")
	if err != nil {
		return nil, err
	}
	sh, err := c.services("InstructionFiles")
	if err != nil {
		return nil, err
	}
	start, err := s.tracker.Begin(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.startInstructions(ctx, sh, known)
	})
	if err != nil {
		return nil, err
	}
	return append(start, s.tracker.Given()...), nil
}

// ReloadInstructions has the instruction files read again: those of the beginning
// with the next request, others when something beside them is accessed. What the
// conversation was shown of other files is not touched. The error is of code
// not_initialized.
func (c *Config) ReloadInstructions() error {
	s, err := c.own("ReloadInstructions")
	if err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	s.told = 0
	return nil
}
