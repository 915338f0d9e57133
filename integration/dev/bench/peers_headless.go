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

// newChatServer returns a modelServer with the API of OpenAI's chat completions. Its model, too,
// requests read_file, and ends when it receives a response to that call.
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
		_, _ = fmt.Fprint(w, // the client reports a missing field
			head, `"choices":[{"index":0,"delta":`, delta, `,"finish_reason":null}]}`, "\n\n",
			head, `"choices":[{"index":0,"delta":{},"finish_reason":"`, reason, `"}]}`, "\n\n",
			head, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, "\n\n",
			"data: [DONE]\n\n")
	})}
	s.run.Go(func() { _ = s.web.Serve(listener) })
	return s, nil
}

// promptRun is a program that receives a prompt, with a model server for it.
type promptRun struct {
	dir     string
	env     []string
	command []string
}

// prompted prepares a directory with the file to read, the server, and the program. The first run
// must print the model's final answer.
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

// turn runs the program from start to end and checks that it printed the model's final answer.
func (r *promptRun) turn() func(context.Context) (Measured, error) {
	return selfTimed(func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...)
		cmd.Dir, cmd.Env = r.dir, r.env
		return cmd
	}, func(stdout []byte) error {
		if !strings.Contains(string(stdout), headlessAnswer) {
			return fmt.Errorf("the output does not contain the model's answer: %.300s", stdout)
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

// geminiProgram runs gemini with a prompt, on a server with the API of Google.
func geminiProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := npmProgram(ctx, lab, geminiNPM, "gemini")
	if err != nil {
		return nil, nil, err
	}
	env, err = peerEnvironment(ctx, lab)
	return append(env, "GEMINI_API_KEY=bench-key-0123456789", "GOOGLE_GEMINI_BASE_URL="+url),
		[]string{path, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// qwenProgram runs qwen with a prompt, on a server with the API of OpenAI.
func qwenProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := npmProgram(ctx, lab, qwenNPM, "qwen")
	if err != nil {
		return nil, nil, err
	}
	env, err = peerEnvironment(ctx, lab)
	return append(env, "OPENAI_API_KEY=bench-key-0123456789", "OPENAI_BASE_URL="+url, "OPENAI_MODEL=test-model"),
		[]string{path, "--auth-type", "openai", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// fettleProgram runs fettle with a prompt, on a server with the API of OpenAI.
func fettleProgram(ctx context.Context, lab *Lab, url string) (env, command []string, err error) {
	path, err := lab.Fettle(ctx)
	if err != nil {
		return nil, nil, err
	}
	env, err = lab.Environment(ctx)
	return append(env, "OPENAI_API_KEY=bench-key-0123456789", "OPENAI_BASE_URL="+url),
		[]string{path, "-m", "openai:test-model", "--approval-mode", "yolo", "-p", aPrompt}, err
}

// chatCases are the headless turn with the API that qwen uses.
func chatCases() []Case {
	const what = "The turn above with a server of OpenAI's API."
	return []Case{
		{ID: "headless/turn-openai", Title: "the same with OpenAI's API", Description: what, Contestants: []Contestant{
			{"fettle", Ours, prompted(newChatServer, fettleProgram, promptTime)},
			{qwen, Peer, prompted(newChatServer, qwenProgram, promptTime)},
		}},
		{ID: "headless/memory-openai", Title: "the same with OpenAI's API: peak memory", Description: what, Unit: Bytes, Turns: 5, Contestants: []Contestant{
			{"fettle", Ours, prompted(newChatServer, fettleProgram, promptPeak)},
			{qwen, Peer, prompted(newChatServer, qwenProgram, promptPeak)},
		}},
	}
}
