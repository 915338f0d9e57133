package main

import (
	"fmt"
	"slices"
)

// Group is a section of the table.
type Group struct{ Key, Title string }

// groups lists the sections in their order.
func groups() []Group {
	return []Group{
		{"noise", "Noise: the same work as two contestants"},
		{"call", "Overhead of a call"},
		{"read", "Reading"},
		{"patch", "`safe_patch`: ten hunks"},
		{"edit", "`edit`: one line"},
		{"write", "`write_file`: the whole file"},
		{"files", "`core/files`, without tools"},
		{"search", "Searching and walking"},
		{"policy", "Decisions"},
		{"registry", "The registry"},
		{"schema", "Schemas"},
		{"bus", "The bus"},
		{"shell", "Commands"},
		{"sandbox", "Commands in the sandbox"},
		{"mcp", "Over MCP"},
		{"agent", "A turn of a conversation, in process"},
		{"headless", "A headless turn against a local model server"},
		{"start", "Start-up: time"},
		{"size", "Start-up and searching: size"},
		{"sessions", "Sessions in one process"},
	}
}

// allCases lists every case with all its contestants, in the order of the groups. It fails if a
// case has no group, or an ID occurs twice.
func allCases() ([]Case, error) {
	all := slices.Concat(noiseCases(), callCases(), readCases(), changeCases(), fileCases(), searchCases(), policyCases(), registryCases(),
		schemaCases(), busCases(), shellCases(), sandboxCases(), mcpCases(), agentCases(), headlessCases(), startCases(), sizeCases(), sessionCases(), peerCases())
	peers := peerContestants()
	index := map[string]int{}
	for i, g := range groups() {
		index[g.Key] = i
	}
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		c.Contestants = append(slices.Clip(c.Contestants), peers[c.ID]...)
		delete(peers, c.ID)
		if _, ok := index[c.group()]; !ok || seen[c.ID] {
			return nil, fmt.Errorf("case %s has no group, or its ID occurs twice", c.ID)
		}
		seen[c.ID] = true
	}
	for id := range peers {
		return nil, fmt.Errorf("peers are registered for case %s, which does not exist", id)
	}
	slices.SortStableFunc(all, func(a, b Case) int { return index[a.group()] - index[b.group()] })
	return all, nil
}
