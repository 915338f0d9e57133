package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The file that the model reads in a headless turn, and its final answer.
const (
	headlessFile   = "f.txt"
	headlessAnswer = "Done, as asked."
)

// modelServer is a server on 127.0.0.1 with the API of Google's models. Its model requests
// read_file for one file, and ends when it receives a response to that call.
type modelServer struct {
	URL string
	web *http.Server
	run sync.WaitGroup
}

func newModelServer(file string) (*modelServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	call := fmt.Sprintf(`{"functionCall":{"id":"c1","name":"read_file","args":{"file_path":%q}}}`, file)
	s := &modelServer{URL: "http://" + listener.Addr().String()}
	s.web = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		part := call
		if bytes.Contains(body, []byte(`"functionResponse"`)) {
			part = fmt.Sprintf(`{"text":%q}`, headlessAnswer)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}],"+
			"\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":1,\"totalTokenCount\":2},\"modelVersion\":\"test-model\"}\n\n", part) // the client reports a missing field
	})}
	s.run.Go(func() { _ = s.web.Serve(listener) })
	return s, nil
}

func (s *modelServer) Close() error {
	err := s.web.Close()
	s.run.Wait()
	return err
}

func headlessCases() []Case {
	const what = "One prompt in a new process: the model requests a read, and then answers. Measured from start to end of the process."
	return []Case{
		{ID: "headless/turn", Title: "a prompt, one call, an answer", Description: what, Contestants: []Contestant{
			{"fettle", Ours, headless(func(p *headlessRun) *Prepared {
				return &Prepared{Run: timed(p.turn)}
			})},
			{"a Go program that makes the two requests", Floor, headlessByHand},
		}},
		{ID: "headless/memory", Title: "a prompt, one call, an answer: peak memory", Description: what, Unit: Bytes, Turns: 5, Contestants: []Contestant{
			{"fettle", Ours, headless(func(p *headlessRun) *Prepared {
				return &Prepared{Run: func(ctx context.Context) (Measured, error) {
					peak, err := peakBytes(ctx, p.dir, p.env, p.command...)
					return Measured{Value: peak}, err
				}}
			})},
			{doesNothing, Floor, peakOf((*Lab).Nothing)},
		}},
	}
}

// headlessRun is the environment of a run of fettle -p.
type headlessRun struct {
	dir     string
	env     []string
	command []string
}

// headless prepares a directory with a file and a server, and passes them to make.
func headless(make func(*headlessRun) *Prepared) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		fettle, err := lab.Fettle(ctx)
		if err != nil {
			return nil, err
		}
		env, err := lab.Environment(ctx)
		if err != nil {
			return nil, err
		}
		dir, err := lab.TempDir("headless")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, headlessFile), []byte("one\ntwo\n"), 0o644); err != nil {
			return nil, err
		}
		server, err := newModelServer(filepath.Join(dir, headlessFile))
		if err != nil {
			return nil, err
		}
		run := &headlessRun{dir: dir, env: append(env, "GEMINI_API_KEY=bench-key-0123456789", "GOOGLE_GEMINI_BASE_URL="+server.URL),
			command: []string{fettle, "-m", "gemini:test-model", "--approval-mode", "yolo", "-p", "Read the file."}}
		if err := run.turn(ctx); err != nil {
			return nil, errors.Join(err, server.Close())
		}
		p := make(run)
		p.Close = server.Close
		return p, nil
	}
}

// turn runs the program and checks that it printed the model's final answer.
func (h *headlessRun) turn(ctx context.Context) error {
	out, err := printed(ctx, h.dir, h.env, h.command...)
	if err == nil && !strings.Contains(out, headlessAnswer) {
		err = fmt.Errorf("the output does not contain the model's answer: %.300s", out)
	}
	return err
}

// asks is a program that sends two requests to the server at the given address, as a harness does.
// It fails if a response is not the expected one.
const asks = `package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	for _, turn := range [][2]string{{"{}", "read_file"}, {"{\"functionResponse\":{}}", os.Args[2]}} {
		r, err := http.Post(os.Args[1], "application/json", strings.NewReader(turn[0]))
		if err != nil {
			panic(err)
		}
		if text, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(text), turn[1]) {
			panic("unexpected response: " + string(text))
		}
	}
}
`

func headlessByHand(ctx context.Context, lab *Lab) (*Prepared, error) {
	program, err := lab.compiled(ctx, "asks", asks)
	if err != nil {
		return nil, err
	}
	server, err := newModelServer(headlessFile)
	if err != nil {
		return nil, err
	}
	p := started(lab.Dir, nil, program, server.URL, headlessAnswer)
	p.Close = server.Close
	return p, nil
}
