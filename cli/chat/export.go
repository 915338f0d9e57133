package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// chatTranscript serves /copy and /export.
type chatTranscript struct{ *chat }

// LastAnswer implements [builtin.Transcript].
func (c chatTranscript) LastAnswer() string {
	c.mu.Lock()
	answer := c.answer
	c.mu.Unlock()
	if answer != "" {
		return answer
	}
	history := c.conversation().History()
	for i := len(history) - 1; i >= 0; i-- {
		if text := history[i].Text(); history[i].Role == model.RoleModel && text != "" {
			return text
		}
	}
	return ""
}

// exported is a conversation in the JSON format of /export.
type exported struct {
	SessionID string          `json:"sessionId"`
	Dir       string          `json:"folder"`
	Model     string          `json:"model"`
	Exported  time.Time       `json:"exported"`
	History   []model.Content `json:"history"`
}

// Export implements [builtin.Transcript]. The user may choose any file.
func (c chatTranscript) Export(_ context.Context, file string, overwrite bool) (string, error) {
	if file == "" {
		file = fmt.Sprintf("%s-%s.md", c.config.Layout().Name, time.Now().Format("2006-01-02T15-04-05"))
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.targetDir(), path)
	}
	history := c.conversation().History()
	if len(history) == 0 {
		return "", fault.New(fault.InvalidToolParams, "cli.export", "The conversation is empty.", "")
	}
	text := c.markdownOf(history)
	if !strings.EqualFold(filepath.Ext(path), ".md") {
		data, err := json.MarshalIndent(exported{c.config.SessionID(), c.targetDir(), c.config.Model(), time.Now(), history}, "", "  ")
		if err != nil {
			return "", err
		}
		text = program.EscapeControls(string(data)) + "\n"
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if overwrite {
		flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return path, fault.Wrap(fault.AttemptToCreateExist, "cli.export", path+" already exists.", "Name another file.", err)
	}
	if err == nil {
		_, err = f.WriteString(c.Hide.Text(text))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return path, fault.Wrap(fault.FileWriteFailure, "cli.export", fmt.Sprintf("Cannot write the conversation: %s.", err), "Name a file in a writable directory.", err)
	}
	return path, nil
}

// markdownOf returns a conversation as Markdown.
func (c *chat) markdownOf(history []model.Content) string {
	var b strings.Builder
	for _, item := range c.itemsOf(history, nil) {
		switch item.Role {
		case "user":
			fmt.Fprintf(&b, "## You\n\n%s\n\n", item.Text)
		case "assistant":
			fmt.Fprintf(&b, "## Answer\n\n%s\n\n", item.Text)
		case "notice":
			fmt.Fprintf(&b, "*%s*\n\n", item.Text)
		default:
			how := "ok"
			if !item.OK {
				how = "not done"
			}
			fmt.Fprintf(&b, "- `%s` %s: `%s`\n\n", item.Name, how, strings.ReplaceAll(display.Line(item.Text), "`", "'"))
		}
	}
	return b.String()
}
