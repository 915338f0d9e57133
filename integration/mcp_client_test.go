package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// mcpclient is an MCP client over the stdin and stdout of a program. It follows a script:
//
//	mcpclient SCRIPT PROGRAM ARGS…
//
// A line of SCRIPT is one of
//
//	elicits                 the client declares elicitation; before the first request
//	answer ACTION [JSON]    its response to later elicitations: accept, decline or cancel
//	request METHOD [JSON]   sends a request and waits for its result
//	call TOOL [JSON]        request tools/call
//	write FILE TEXT         writes a file without the server; \n is a line feed
//	signal NAME             sends TERM or INT
//	await METHOD            waits for a notification, unless one has already come
//
// $SHA in JSON is the last sha256 in a result, and $WORK the directory of the script. Each response
// is printed as a line of JSON, {"result"} or {"error"}, with these keys added: "state", the file
// state in it; "asked", the elicitations since the request; "progress", the number of progress
// notifications.
//
// At the end of the script, or after a signal, stdin is closed. The last line has the exit code and
// the output that was no message of the protocol, {"exit", "noise"}.
func mcpclient() {
	if err := runMCPClient(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runMCPClient(args []string) error {
	script, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &dialogue{in: in, out: bufio.NewReader(out), process: cmd.Process, wireRequest: map[string]bool{}}
	for n, line := range strings.Split(string(script), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.step(line); err != nil {
			_ = cmd.Process.Kill()
			return fmt.Errorf("%s:%d: %w", args[0], n+1, err)
		}
	}
	if !c.signalled {
		_ = in.Close()
	}
	rest, err := io.ReadAll(c.out)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(rest)) {
		c.message([]byte(line))
	}
	_ = cmd.Wait() // the exit code is printed below
	return c.print(map[string]any{"exit": cmd.ProcessState.ExitCode(), "noise": c.noise})
}

// dialogue is a client in the middle of its script.
type dialogue struct {
	in      io.Writer
	out     *bufio.Reader
	process *os.Process

	elicits     bool
	greeted     bool
	signalled   bool
	answer      map[string]any
	sha         string
	last        int // id of the last request
	asked       []any
	progress    int
	wireRequest map[string]bool // methods
	noise       []string
}

type rpcMessage struct {
	ID     any             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func (c *dialogue) step(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch verb {
	case "elicits":
		c.elicits = true
		return nil
	case "answer":
		c.answer = map[string]any{"action": first}
		if second != "" {
			c.answer["content"] = json.RawMessage(second)
		}
		return nil
	case "write":
		return os.WriteFile(first, []byte(strings.ReplaceAll(second, `\n`, "\n")), 0o644)
	case "signal":
		c.signalled = true
		return c.process.Signal(map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt}[first])
	case "await":
		return c.await(first)
	case "call":
		if second == "" {
			second = "{}"
		}
		return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":"p"}}`, first, second))
	case "request":
		if second == "" {
			second = "{}"
		}
		return c.request(first, second)
	}
	return fmt.Errorf("unknown command %s", verb)
}

func (c *dialogue) request(method, params string) error {
	if !c.greeted {
		c.greeted = true
		capabilities := "{}"
		if c.elicits {
			capabilities = `{"elicitation":{}}`
		}
		if err := c.exchange("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"mcpclient","version":"1"}}`); err != nil {
			return err
		}
		if err := c.send(rpcMessage{Method: "notifications/initialized"}); err != nil {
			return err
		}
		if method == "initialize" {
			return nil
		}
	}
	return c.exchange(method, strings.NewReplacer("$SHA", c.sha, "$WORK", os.Getenv("WORK")).Replace(params))
}

// exchange sends a request and prints its response.
func (c *dialogue) exchange(method, params string) error {
	c.last++
	c.asked, c.progress = nil, 0
	if err := c.send(rpcMessage{ID: c.last, Method: method, Params: json.RawMessage(params)}); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the server ended before it answered %s: %w", method, err)
		}
		m, err := c.message(line)
		if err != nil {
			return err
		}
		if id, is := m.ID.(float64); !is || m.Method != "" || int(id) != c.last {
			continue
		}
		return c.print(map[string]any{
			"result": orNull(m.Result), "error": orNull(m.Error), "state": c.remember(m.Result), "asked": c.asked, "progress": c.progress,
		})
	}
}

func orNull(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// fileState is the state of a file in the result of a call.
type fileState struct {
	SHA256  string `json:"sha256"`
	Content string `json:"content"`
}

// remember returns the file state in a result, nil if it has none. The state is in the structured
// content, or in a text next to an error.
func (c *dialogue) remember(result json.RawMessage) *fileState {
	var r struct {
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &r) != nil {
		return nil
	}
	found := []json.RawMessage{r.Structured}
	for _, part := range r.Content {
		found = append(found, json.RawMessage(part.Text))
	}
	for _, raw := range found {
		var of struct {
			fileState
			Latest *fileState `json:"latest_file_state"`
		}
		if json.Unmarshal(raw, &of) != nil {
			continue
		}
		if of.Latest == nil {
			of.Latest = &of.fileState
		}
		if of.Latest.SHA256 != "" {
			c.sha = of.Latest.SHA256
			return of.Latest
		}
	}
	return nil
}

// await waits for a notification.
func (c *dialogue) await(method string) error {
	for !c.wireRequest[method] {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the server ended before it sent %s: %w", method, err)
		}
		if _, err := c.message(line); err != nil {
			return err
		}
	}
	return nil
}

// message handles a message of the server: it answers requests and records notifications.
func (c *dialogue) message(line []byte) (rpcMessage, error) {
	var m rpcMessage
	if err := json.Unmarshal(line, &m); err != nil {
		c.noise = append(c.noise, strings.TrimSpace(string(line)))
		return rpcMessage{}, nil
	}
	c.wireRequest[m.Method] = true
	switch m.Method {
	case "notifications/progress":
		c.progress++
	case "elicitation/create":
		c.asked = append(c.asked, m.Params)
		answer, err := json.Marshal(c.answer)
		if err != nil {
			return m, err
		}
		return m, c.send(rpcMessage{ID: m.ID, Result: answer})
	}
	return m, nil
}

func (c *dialogue) send(m rpcMessage) error {
	data, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		rpcMessage
	}{"2.0", m})
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(data, '\n'))
	return err
}

func (c *dialogue) print(v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Println(string(data))
	}
	return err
}
