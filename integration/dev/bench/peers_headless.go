package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// newChatServer is the modelServer of another dialect, that of OpenAI's chat
// completions: it too has read_file called, and once it is shown an answer to that
// it is done.
func newChatServer(file string) (*modelServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(map[string]string{"file_path": file})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &modelServer{URL: "http://" + listener.Addr().String() + "/v1"}
	s.web = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		delta, reason := fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":%q}}]}`, args), "tool_calls"
		if bytes.Contains(body, []byte(`"tool_call_id"`)) {
			delta, reason = fmt.Sprintf(`{"role":"assistant","content":%q}`, headlessAnswer), "stop"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const head = `data: {"id":"r","object":"chat.completion.chunk","created":1,"model":"test-model",`
		_, _ = fmt.Fprint(w, // the client reports what it misses
			head, `"choices":[{"index":0,"delta":`, delta, `,"finish_reason":null}]}`, "\n\n",
			head, `"choices":[{"index":0,"delta":{},"finish_reason":"`, reason, `"}]}`, "\n\n",
			head, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, "\n\n",
			"data: [DONE]\n\n")
	})}
	s.run.Go(func() { _ = s.web.Serve(listener) })
	return s, nil
}

// promptRun is a program that is given a prompt, and a server of models for it.
type promptRun struct {
	dir     string
	env     []string
	command []string
}

// prompted prepares a directory with the file that a server has read, that server, and
// what make makes of them. The first run must print the model's last words.
func prompted(serve func(file string) (*modelServer, error), program func(ctx context.Context, lab *Lab, url string) (env, command []string, err error),
	make func(r *promptRun) *Prepared) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (_ *Prepared, err error) {
		dir, file, err := fileWith(lab, headlessFile, "one\ntwo\n")
		if err != nil {
			return nil, err
		}
		server, err := serve(file)
		if err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, server.Close())
			}
		}()
		env, command, err := program(ctx, lab, server.URL)
		if err != nil {
			return nil, err
		}
		r := &promptRun{dir: dir, env: env, command: command}
		if _, err := r.turn()(ctx); err != nil {
			return nil, err
		}
		p := make(r)
		p.Close = server.Close
		return p, nil
	}
}

// turn runs the program from start to end and looks that the model's last words were printed.
func (r *promptRun) turn() func(context.Context) (Measured, error) {
	return selfTimed(func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...)
		cmd.Dir, cmd.Env = r.dir, r.env
		return cmd
	}, func(stdout []byte) error {
		if !strings.Contains(string(stdout), headlessAnswer) {
			return fmt.Errorf("the model's answer is missing in what was printed: %.300s", stdout)
		}
		return nil
	})
}

func promptTime(r *promptRun) *Prepared { return &Prepared{Run: r.turn()} }

func promptPeak(r *promptRun) *Prepared {
	return &Prepared{Run: func(ctx context.Context) (Measured, error) {
		peak, err := peakBytes(ctx, r.dir, r.env, r.command...)
		return Measured{Value: peak}, err
	}}
}

const aPrompt = "Read the file."

// geminiProgram is gemini with a prompt, on a server that speaks as Google's do.
func geminiProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := npmProgram(ctx, lab, geminiNPM, "gemini")
	if err != nil {
		return nil, nil, err
	}
	env, err = peerEnvironment(ctx, lab)
	return append(env, "GEMINI_API_KEY=bench-key-0123456789", "GOOGLE_GEMINI_BASE_URL="+url),
		[]string{path, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// qwenProgram is qwen with a prompt, on a server that speaks as OpenAI's do.
func qwenProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := npmProgram(ctx, lab, qwenNPM, "qwen")
	if err != nil {
		return nil, nil, err
	}
	env, err = peerEnvironment(ctx, lab)
	return append(env, "OPENAI_API_KEY=bench-key-0123456789", "OPENAI_BASE_URL="+url, "OPENAI_MODEL=test-model"),
		[]string{path, "--auth-type", "openai", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// fettleProgram is fettle with a prompt, on a server that speaks as OpenAI's do.
func fettleProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := lab.Fettle(ctx)
	if err != nil {
		return nil, nil, err
	}
	env, err = lab.Environment(ctx)
	return append(env, "OPENAI_API_KEY=bench-key-0123456789", "OPENAI_BASE_URL="+url),
		[]string{path, "-m", "openai:test-model", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// chatCases are the headless turn in the dialect that qwen speaks.
func chatCases() []Case {
	const what = "The turn above with a server of OpenAI's API."
	return []Case{
		{ID: "headless/turn-openai", Title: "the same with OpenAI's API", What: what, Contestants: []Contestant{
			{"fettle", Ours, prompted(newChatServer, fettleProgram, promptTime)},
			{qwen, Peer, prompted(newChatServer, qwenProgram, promptTime)},
		}},
		{ID: "headless/memory-openai", Title: "the same with OpenAI's API: peak memory", What: what, Unit: Bytes, Turns: 5, Contestants: []Contestant{
			{"fettle", Ours, prompted(newChatServer, fettleProgram, promptPeak)},
			{qwen, Peer, prompted(newChatServer, qwenProgram, promptPeak)},
		}},
	}
}
