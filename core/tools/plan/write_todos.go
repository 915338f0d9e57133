package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// WriteTodosParams are the parameters of write_todos.
type WriteTodosParams struct {
	Todos []TodoParams `json:"todos" jsonschema_description:"The whole list in the order of work; it replaces the previous list. An empty list clears it."`
}

// TodoParams is one todo of the list.
type TodoParams struct {
	Description string           `json:"description" jsonschema:"minLength=1" jsonschema_description:"The task, in a few words that make clear when it is done."`
	Status      tools.TodoStatus `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=cancelled" jsonschema_description:"pending: not started. in_progress: being worked on, at most one. completed: done and checked. cancelled: no longer needed."`
}

const writeTodosDescription = "Maintains the list of todos of this conversation, which the user sees. " +
	"Use it for work of three or more steps, and for several requests at once; a simple task needs none. " +
	"Each call replaces the whole list, so send every todo, including completed ones. " +
	"Set one todo to in_progress before you start it, never two at once, and to completed as soon as it is done and checked. " +
	"Add todos that turn out to be needed, and set todos that are no longer needed to cancelled. " +
	"Each todo has a description and a status, one of pending, in_progress, completed and cancelled. An empty list clears it."

func newWriteTodos() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, WriteTodosParams]{
		Spec: tools.Spec{
			Name: WriteTodos, DisplayName: "WriteTodos", Description: writeTodosDescription, Kind: tools.KindThink,
		},
		Validate: func(_ Services, p WriteTodosParams) error {
			begun := -1
			for i, t := range p.Todos {
				if strings.TrimSpace(t.Description) == "" {
					return badParameter(fmt.Sprintf("todos[%d]: the description is blank.", i), "Describe the task.")
				}
				if t.Status != tools.TodoInProgress {
					continue
				}
				if begun >= 0 {
					return badParameter(fmt.Sprintf("todos[%d] and todos[%d] are both in_progress; at most one may be.", begun, i),
						"Keep the current one in_progress, and set the other to pending.")
				}
				begun = i
			}
			return nil
		},
		Build: func(s Services, p WriteTodosParams, params json.RawMessage) (tools.ToolInvocation, error) {
			list := make([]tools.Todo, len(p.Todos))
			for i, t := range p.Todos {
				list[i] = tools.Todo(t)
			}
			return &writeTodos{s, list, params}, nil
		},
	})
}

type writeTodos struct {
	services Services
	list     []tools.Todo
	params   json.RawMessage
}

func (w *writeTodos) Params() json.RawMessage { return w.params }

func (w *writeTodos) Description() string {
	switch n := len(w.list); n {
	case 0:
		return "Clear the todos"
	case 1:
		return "Set 1 todo"
	default:
		return fmt.Sprintf("Set %d todos", n)
	}
}

func (w *writeTodos) Locations() []tools.Location { return nil }

func (w *writeTodos) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

// Execute replaces the list and returns it, so that the conversation has the current list.
func (w *writeTodos) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Fail(failed(ctx, "plan.write_todos", err)), nil
	}
	w.services.Todos.Set(w.list)
	text := "The list of todos is now empty."
	if len(w.list) > 0 {
		var b strings.Builder
		b.WriteString("The list of todos is now:")
		for i, t := range w.list {
			fmt.Fprintf(&b, "\n%d. [%s] %s", i+1, t.Status, escape.OneLine(t.Description))
		}
		text = b.String()
	}
	return tools.Result{
		LLMContent:    tools.Text(text),
		ReturnDisplay: tools.Display{Todo: &tools.TodoList{Todos: w.list}},
	}, nil
}

// badParameter returns the error for a parameter that violates a rule of the tool.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "plan.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}
