package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// searchCall is a call whose memory is measured. It is the only call of its process.
type searchCall struct {
	key, title, tool string
	args             map[string]any
}

// noSearch is the key of the empty entry, which makes no call.
const noSearch = "nothing"

func searchCalls() []searchCall {
	return []searchCall{
		{noSearch, "no call", "", nil},
		{"rare", "`search_file_content`, a rare literal", search.SearchFileContent, map[string]any{"pattern": "rare_Needle"}},
		{"common", "a common literal", search.SearchFileContent, map[string]any{"pattern": "return"}},
		{"names", "a common literal, all file names", search.SearchFileContent, map[string]any{"pattern": "return", "names_only": true, "total_max_matches": 1 << 20}},
		{"expression", "a regular expression without a literal", search.SearchFileContent, map[string]any{"pattern": `\w+_\w+ {3}here`}},
		{"glob", "`glob`", search.Glob, map[string]any{"pattern": "**/*.ts"}},
	}
}

// everything allows showing every file.
type everything struct{}

func (everything) MayShow(workspace.Path) bool { return true }

// searchOnce makes one of searchCalls in a tree, in this process.
func searchOnce(ctx context.Context, top, key string) error {
	for _, call := range searchCalls() {
		if call.key != key {
			continue
		}
		if call.tool == "" {
			return nil
		}
		return call.make(ctx, top)
	}
	return fmt.Errorf("search %s does not exist", key)
}

func (call searchCall) make(ctx context.Context, top string) (err error) {
	files, err := workspace.Open(top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	all, err := search.Factories()
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Spec().Name != call.tool {
			continue
		}
		args, err := json.Marshal(call.args)
		if err != nil {
			return err
		}
		tool := f.Bind(search.Services{Paths: files, Finder: discovery.New(files), Visible: everything{}})
		invocation, err := tool.Build(args)
		if err != nil {
			return err
		}
		result, err := invocation.Execute(ctx, nil)
		if err == nil && result.Error != nil {
			err = result.Error
		}
		return err
	}
	return fmt.Errorf("tool %s does not exist", call.tool)
}

// peakOfSearch prepares processes that make one call in the generated files.
func peakOfSearch(key string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		tree, err := lab.Generated(ctx)
		if err != nil {
			return nil, err
		}
		cmd, err := lab.child(ctx, childTask{Search: key, Tree: tree.Top})
		if err != nil {
			return nil, err
		}
		return &Prepared{Run: func(ctx context.Context) (Measured, error) {
			peak, err := peakBytes(ctx, cmd.Dir, cmd.Env, cmd.Path)
			return Measured{Value: peak}, err
		}}, nil
	}
}
