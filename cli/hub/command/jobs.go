package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
)

// follow is the pause between two reads of a log.
const follow = 200 * time.Millisecond

// with connects, and calls use with a function that sends requests.
func (h *hub) with(use func(call func(ctx context.Context, method string, q service.Request) (service.Response, error)) error) error {
	refused := make(chan error, 1) // the server reports a missing permission apart from the request
	nc, name, err := h.connect(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err:
		default:
		}
	}))
	if err != nil {
		return err
	}
	defer nc.Close()
	return use(func(ctx context.Context, method string, q service.Request) (service.Response, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type result struct {
			r   service.Response
			err error
		}
		results := make(chan result, 1)
		go func() {
			r, err := service.Call(ctx, nc, name, method, q)
			results <- result{r, err}
		}()
		select {
		case got := <-results:
			return got.r, got.err
		case err := <-refused:
			cancel()
			<-results
			return service.Response{}, fmt.Errorf("the hub refuses the request %s of the user %s: it requires another role: %w", method, name, err)
		}
	})
}

func (h *hub) jobCommands() []*cobra.Command {
	var q service.Request
	var asJSON, wait, follows bool
	submit := &cobra.Command{
		Use: "submit --workspace NAME PROMPT", Short: "Submit a job, and print its ID; - reads the prompt from stdin", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Workspace == "" {
				return errors.New("a job requires --workspace NAME: the name of a worker's workspace")
			}
			q.ID, q.Prompt = bus.NewID(), args[0]
			if args[0] == "-" {
				data, err := io.ReadAll(io.LimitReader(h.in, 1<<20))
				if err != nil {
					return err
				}
				q.Prompt = string(data)
			}
			return h.with(func(call call) error {
				r, err := call(cmd.Context(), service.Submit, q)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(h.out, r.Job.ID); err != nil || !wait {
					return err
				}
				return h.logs(cmd.Context(), call, r.Job.ID, true)
			})
		},
	}
	submit.Flags().StringVar(&q.Workspace, "workspace", "", "`name` of the workspace")
	submit.Flags().BoolVar(&wait, "wait", false, "print the log, and end with the job; the exit code is 0 if it is done")
	jobs := &cobra.Command{
		Use: "jobs", Short: "List the jobs, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return h.with(func(call call) error {
				r, err := call(cmd.Context(), service.Jobs, service.Request{})
				if err != nil {
					return err
				}
				return h.list(r.Jobs, asJSON)
			})
		},
	}
	jobs.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per job")
	logs := &cobra.Command{
		Use: "logs ID", Short: "Print the log of a job; the beginning of its ID suffices", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.with(func(call call) error { return h.logs(cmd.Context(), call, args[0], follows) })
		},
	}
	logs.Flags().BoolVarP(&follows, "follow", "f", false, "print new lines until the job ends; the exit code is 0 if it is done")
	cancel := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a job", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.with(func(call call) error {
				_, err := call(cmd.Context(), service.Cancel, service.Request{ID: args[0]})
				return err
			})
		},
	}
	restore := &cobra.Command{
		Use: "restore ID CHECKPOINT", Short: "Submit a job that undoes a turn or a call of an ended job, such as 1 or 1.2", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.with(func(call call) error {
				r, err := call(cmd.Context(), service.Restore, service.Request{ID: args[0], Restore: args[1]})
				if err == nil {
					_, err = fmt.Fprintln(h.out, r.Job.ID)
				}
				return err
			})
		},
	}
	return []*cobra.Command{restore, submit, jobs, logs, cancel}
}

// call sends a request.
type call = func(ctx context.Context, method string, q service.Request) (service.Response, error)

func (h *hub) list(all []store.Job, asJSON bool) error {
	for _, j := range all {
		if asJSON {
			data, err := json.Marshal(j)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(h.out, string(data)); err != nil {
				return err
			}
			continue
		}
		text := j.Prompt
		if j.Error != "" {
			text += " — " + j.Error
		}
		if _, err := fmt.Fprintf(h.out, "%.12s  %-9s  %s  %s  %s\n", j.ID, j.Status, j.Submitted.Local().Format("2006-01-02 15:04"), display.Line(j.Workspace), display.Line(text)); err != nil {
			return err
		}
	}
	return nil
}

// logs prints a log. If it follows, it ends with the job, and fails unless the job is done.
func (h *hub) logs(ctx context.Context, call call, id string, follows bool) error {
	var from uint64
	for {
		r, err := call(ctx, service.Logs, service.Request{ID: id, From: from})
		if err != nil {
			return err
		}
		from = r.Next
		for _, l := range r.Lines {
			text := strings.ReplaceAll(display.Printable(strings.TrimRight(l.Text, "\n")), "\n", "\n    ")
			if _, err := fmt.Fprintf(h.out, "%s %-8s %s\n", l.Time.Local().Format(time.TimeOnly), display.Line(l.Kind), text); err != nil {
				return err
			}
		}
		if len(r.Lines) > 0 {
			continue
		}
		switch {
		case !follows:
			return nil
		case r.Job.Status.Final():
			if r.Job.Status != store.Done {
				return fmt.Errorf("the job is %s: %s", r.Job.Status, r.Job.Error)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(follow):
		}
	}
}
