package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

func chatCommand(s *Services) *commands.Command {
	list := func(ctx context.Context) (commands.Result, error) {
		all, err := s.Chats.List(ctx)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return info("No conversation is saved. /chat save TAG saves this one."), nil
		}
		var b strings.Builder
		for _, saved := range all {
			item(&b, saved.Tag, count(saved.Turns, "message", "messages")+", saved "+saved.Saved.Local().Format("2006-01-02 15:04"))
		}
		return titled("The saved conversations:", &b, ""), nil
	}
	tagged := func(name, description string, do action, alt ...string) *commands.Command {
		return &commands.Command{
			Name: name, AltNames: alt, Description: description, Completion: tags(s),
			Action: func(ctx context.Context, c *commands.Context, tag string) (commands.Result, error) {
				if tag == "" {
					return nil, missing("tag", "Type /chat "+name+" TAG; /chat list shows the tags.")
				}
				return do(ctx, c, tag)
			},
		}
	}
	chat := &commands.Command{
		Name: "chat", Description: "Saves and resumes conversations under tags.",
		Action: func(ctx context.Context, c *commands.Context, args string) (commands.Result, error) {
			if args != "" {
				word, _ := words(args)
				return nil, fault.New(fault.InvalidToolParams, "builtin.chat", "/chat has no sub-command "+code(word)+".", "Type /chat and one of: list, save, resume, delete, share.")
			}
			return list(ctx)
		},
		SubCommands: []*commands.Command{
			plain("list", "Lists the saved conversations.", list),
			tagged("save", "Saves the conversation: /chat save TAG", s.saveChat),
			tagged("resume", "Resumes a saved conversation: /chat resume TAG", func(ctx context.Context, _ *commands.Context, tag string) (commands.Result, error) {
				loaded, err := s.Chats.Load(ctx, tag)
				if err != nil {
					return nil, err
				}
				if loaded.Note == "" {
					loaded.Note = "The conversation " + code(tag) + " is resumed."
				}
				return loaded, nil
			}, "load"),
			tagged("delete", "Removes a saved conversation: /chat delete TAG", func(ctx context.Context, _ *commands.Context, tag string) (commands.Result, error) {
				if err := s.Chats.Delete(ctx, tag); err != nil {
					return nil, err
				}
				return info("The conversation %s was removed.", code(tag)), nil
			}),
		},
	}
	if s.Transcript != nil {
		chat.SubCommands = append(chat.SubCommands, &commands.Command{
			Name: "share", Description: "Writes the conversation to a file: /chat share FILE.md or FILE.json", Action: s.export,
		})
	}
	return chat
}

// saveChat asks before it overwrites the conversation saved under the tag.
func (s *Services) saveChat(ctx context.Context, c *commands.Context, tag string) (commands.Result, error) {
	err := s.Chats.Save(ctx, tag, c.OverwriteConfirmed)
	switch {
	case fault.CodeOf(err) == fault.AttemptToCreateExist:
		return commands.ConfirmAction{Prompt: "A conversation " + code(tag) + " is saved already. Save this one in its place?"}, nil
	case err != nil:
		return nil, err
	}
	return info("The conversation is saved as %s. /chat resume %s resumes it.", code(tag), escaped(escape.Plain(tag, 100))), nil
}

// tags completes the tag of a saved conversation.
func tags(s *Services) func(context.Context, *commands.Context, string) ([]commands.Candidate, error) {
	return func(ctx context.Context, _ *commands.Context, partial string) (found []commands.Candidate, err error) {
		all, err := s.Chats.List(ctx)
		for _, saved := range all {
			found = append(found, commands.Candidate{Value: saved.Tag, Description: count(saved.Turns, "message", "messages")})
		}
		return beginning(found, partial), err
	}
}

// export writes the conversation to a file, and asks before it overwrites one.
func (s *Services) export(ctx context.Context, c *commands.Context, file string) (commands.Result, error) {
	path, err := s.Transcript.Export(ctx, file, c.OverwriteConfirmed)
	switch {
	case fault.CodeOf(err) == fault.AttemptToCreateExist:
		return commands.ConfirmAction{Prompt: "The file " + code(file) + " exists. Overwrite it?"}, nil
	case err != nil:
		return nil, err
	}
	return info("The conversation was written to %s.", code(path)), nil
}

func exportCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "export", AltNames: []string{"export-session"}, Description: "Writes the conversation to a file: /export FILE.md or FILE.json", Action: s.export,
	}
}

func copyCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "copy", Description: "Copies the last answer to the clipboard.", AutoExecute: true,
		Action: func(context.Context, *commands.Context, string) (commands.Result, error) {
			answer := s.Transcript.LastAnswer()
			if answer == "" {
				return info("There is no answer to copy yet."), nil
			}
			return commands.CopyText{Text: answer}, nil
		},
	}
}

func compressCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "compress", AltNames: []string{"summarize", "compact"}, Description: "Replaces the conversation so far with a summary of it.", AutoExecute: true,
		Action: func(ctx context.Context, c *commands.Context, _ string) (commands.Result, error) {
			if c.UI != nil {
				c.UI.Progress("Shortening the conversation")
				defer c.UI.Progress("")
			}
			done, err := s.Compressor.Compress(ctx)
			switch {
			case err != nil:
				return nil, err
			case done.Why != "":
				return info("The conversation is unchanged: %s.", strings.TrimSuffix(line(done.Why), ".")), nil
			}
			if s.Clear != nil && s.Clear.Tokens != nil {
				s.Clear.Tokens.SetTokens(done.After)
			}
			return info("The conversation was compressed to %s tokens, from %s.", thousands(done.After), thousands(done.Before)), nil
		},
	}
}

// thousands formats a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
