package command

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/service"
)

// verifyFlags are the flags of verify.
type verifyFlags struct{ worker, file, export, public, head string }

func (h *hub) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the ledger of the workers, or of an exported file",
		Long: `Verifies the chain of each worker: every signature, and that each entry follows the
previous one. The hub is not trusted. Keep the printed head: a later run with --head also
proves that no entry at the end was removed since.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.file != "" {
				entries, err := readLines(f.file)
				if err != nil {
					return err
				}
				return h.verified(f.file, entries, f.public, f.head)
			}
			return h.with(func(call call) error { return h.verify(cmd.Context(), call, &f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.worker, "worker", "", "`name` of one worker (default: all)")
	flags.StringVar(&f.file, "file", "", "verify an exported `file` instead, without a hub")
	flags.StringVar(&f.export, "export", "", "write the entries of the worker to a `file`, a JSON object per line")
	flags.StringVar(&f.public, "public-key", "", "public `key` of the worker (default: that of --dir, else that of the first entry)")
	flags.StringVar(&f.head, "head", "", "`hash` that the chain must contain, such as the head of an earlier run")
	return cmd
}

func (h *hub) verify(ctx context.Context, call call, f *verifyFlags) error {
	names := []string{f.worker}
	if f.worker == "" {
		if f.export != "" || f.head != "" || f.public != "" {
			return fmt.Errorf("--export, --head and --public-key require --worker NAME")
		}
		r, err := call(ctx, service.Ledger, service.Request{})
		if err != nil {
			return err
		}
		names = r.Workers
	}
	for _, name := range names {
		var entries [][]byte
		for from := uint64(0); ; {
			r, err := call(ctx, service.Ledger, service.Request{Worker: name, From: from})
			if err != nil {
				return err
			}
			if len(r.Entries) == 0 {
				break
			}
			entries, from = append(entries, r.Entries...), r.Next
		}
		if f.export != "" {
			if err := writeLines(f.export, entries); err != nil {
				return err
			}
		}
		public := f.public
		if public == "" {
			public = h.publicKey(name)
		}
		if err := h.verified(name, entries, public, f.head); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// publicKey returns the key of a user of the directory of the hub; "": there is none.
func (h *hub) publicKey(name string) string {
	users, err := h.keys().Users()
	for _, u := range users {
		if err == nil && u.Name == name && (u.Has(keys.Worker) || u.Has(keys.Admin)) {
			return u.Key
		}
	}
	return ""
}

func (h *hub) verified(name string, entries [][]byte, public, head string) error {
	r, err := ledger.Verify(entries, public, head)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.out, "%s: %d entries are valid, %d expired, %d calls without an end; key %s, head %s\n", name, r.Entries, r.Expired, r.Begun, r.Worker, r.Head)
	return err
}

func readLines(path string) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all [][]byte
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		all = append(all, append([]byte(nil), s.Bytes()...))
	}
	return all, s.Err()
}

func writeLines(path string, all [][]byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	for _, one := range all {
		if _, err := f.Write(append(one, '\n')); err != nil {
			return err
		}
	}
	return nil
}
