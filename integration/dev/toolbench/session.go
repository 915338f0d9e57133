package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call is a call of a contestant's own tool.
type Call struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// size returns the number of bytes that a model writes for the call.
func (c Call) size() int {
	data, err := json.Marshal(c)
	if err != nil {
		return 0
	}
	return len(data)
}

// Answer is the result of a call: the text that a model gets, and whether it reports an error.
type Answer struct {
	Text    string
	Refused bool
}

// Session is a contestant at work in a directory. One call runs at a time.
type Session interface {
	// Call makes a call. An error means that the contestant did not answer.
	Call(ctx context.Context, c Call) (Answer, error)
	// Declarations returns what a model gets about all tools.
	Declarations(ctx context.Context) (string, error)
	// Kill ends the process that works on a call, at once. It can run during a call.
	Kill()
	Close() error
}

// mcpSession is a server over stdin and stdout.
type mcpSession struct {
	client *mcp.ClientSession
	cmd    *exec.Cmd
}

func startMCP(ctx context.Context, cmd *exec.Cmd) (Session, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "toolbench", Version: "1"}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Second}, nil)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	return &mcpSession{s, cmd}, nil
}

func (s *mcpSession) Call(ctx context.Context, c Call) (Answer, error) {
	r, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: c.Args})
	if err != nil {
		var wire interface{ Error() string }
		if ctx.Err() == nil && errors.As(err, &wire) && !errors.Is(err, mcp.ErrConnectionClosed) && !strings.Contains(err.Error(), "closing") && !strings.Contains(err.Error(), "EOF") {
			return Answer{Text: err.Error(), Refused: true}, nil // an error of the protocol is a refusal
		}
		return Answer{}, err
	}
	var text strings.Builder
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return Answer{text.String(), r.IsError}, nil
}

func (s *mcpSession) Declarations(ctx context.Context) (string, error) {
	r, err := s.client.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	var all []map[string]any // the fields that clients pass on to models
	for _, t := range r.Tools {
		all = append(all, map[string]any{"name": t.Name, "description": t.Description, "parameters": t.InputSchema})
	}
	data, err := json.Marshal(all)
	return string(data), err
}

func (s *mcpSession) Kill() { _ = s.cmd.Process.Kill() } // it may have ended

func (s *mcpSession) Close() error {
	_ = s.client.Close() // it may have been killed
	return nil
}

// pipeSession is a driver with the protocol of node/driver.mjs.
type pipeSession struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPipe(ctx context.Context, cmd *exec.Cmd) (Session, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &pipeSession{cmd, in, bufio.NewReaderSize(out, 1<<16)}
	if _, err := s.answer(ctx); err != nil {
		_ = s.Close() // the error that is reported is the first
		return nil, fmt.Errorf("start the driver: %w: %.300s", err, stderr.String())
	}
	return s, nil
}

func (s *pipeSession) answer(ctx context.Context) (Answer, error) {
	defer context.AfterFunc(ctx, s.Kill)()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return Answer{}, errors.Join(ctx.Err(), err)
	}
	var a Answer
	return a, json.Unmarshal(line, &a)
}

func (s *pipeSession) Call(ctx context.Context, c Call) (Answer, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return Answer{}, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return Answer{}, err
	}
	return s.answer(ctx)
}

func (s *pipeSession) Declarations(ctx context.Context) (string, error) {
	a, err := s.Call(ctx, Call{"declarations", map[string]any{}})
	if a.Refused {
		return "", errNotOffered
	}
	return a.Text, err
}

func (s *pipeSession) Kill() { _ = s.cmd.Process.Kill() } // it may have ended

func (s *pipeSession) Close() error {
	_ = s.in.Close() // it may have ended
	kill := time.AfterFunc(2*time.Second, s.Kill)
	defer kill.Stop()
	_ = s.cmd.Wait() // the exit code does not matter
	return nil
}

// commandSession is a program that is started for each call: its tool is the program, and the
// arguments are args and stdin. The tool "read" returns the content of a file.
type commandSession struct {
	dir string
	mu  sync.Mutex
	now *exec.Cmd
}

func (s *commandSession) Call(ctx context.Context, c Call) (Answer, error) {
	if c.Tool == "read" {
		data, err := os.ReadFile(c.Args["path"].(string))
		if err != nil {
			return Answer{err.Error(), true}, nil
		}
		return Answer{Text: string(data)}, nil
	}
	cmd := exec.CommandContext(ctx, c.Tool, c.Args["args"].([]string)...)
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(c.Args["stdin"].(string))
	if dir, ok := c.Args["dir"].(string); ok {
		cmd.Dir = dir
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	s.mu.Lock()
	s.now = cmd
	err := cmd.Start()
	s.mu.Unlock()
	if err != nil {
		return Answer{}, err
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return Answer{out.String(), true}, nil
	case err != nil:
		return Answer{}, err
	}
	return Answer{Text: out.String()}, nil
}

func (s *commandSession) Declarations(context.Context) (string, error) { return "", errNotOffered }

func (s *commandSession) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && s.now.Process != nil {
		_ = s.now.Process.Kill() // it may have ended
	}
}

func (s *commandSession) Close() error { return nil }

// httpSession is a server that answers requests with JSON: the tool is METHOD PATH.
type httpSession struct {
	cmd *exec.Cmd
	url string
}

func (s *httpSession) Call(ctx context.Context, c Call) (Answer, error) {
	method, target, _ := strings.Cut(c.Tool, " ")
	r, err := http.NewRequestWithContext(ctx, method, s.url+target, nil)
	if err != nil {
		return Answer{}, err
	}
	if method == http.MethodGet {
		q := r.URL.Query()
		for k, v := range c.Args {
			q.Set(k, fmt.Sprint(v))
		}
		r.URL.RawQuery = q.Encode()
	} else {
		data, err := json.Marshal(c.Args)
		if err != nil {
			return Answer{}, err
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	return Answer{string(text), response.StatusCode >= 400}, err
}

func (s *httpSession) Declarations(context.Context) (string, error) { return "", errNotOffered }
func (s *httpSession) Kill()                                        { _ = s.cmd.Process.Kill() } // it may have ended

func (s *httpSession) Close() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	kill := time.AfterFunc(2*time.Second, s.Kill)
	defer kill.Stop()
	_ = s.cmd.Wait() // the exit code does not matter
	return nil
}
