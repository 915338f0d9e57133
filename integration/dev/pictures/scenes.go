package main

import _ "embed"

//go:embed testdata/session.json
var sessionScript string

// scene is a session in a terminal.
type scene struct {
	name          string // of the picture
	about         string // describes it to readers who do not see it
	columns, rows int
	files         map[string]string // of the project
	script        string            // the turns of the model, see docs/scripts.md
	args          []string          // of fettle
	steps         []step
}

// step is one thing that happens. Its fields act in their order.
type step struct {
	wait  []string // until the screen contains all these texts
	hold  int      // seconds for which the screen is part of the picture; 0: it is not
	save  string   // NAME=CONTENT: another program saves a file of the project
	typed string
	key   string // a sequence that the terminal sends
}

const (
	enter = "\r"
	ctrlD = "\x04"
)

const shop = `package shop

// Price returns the price of an article in cents.
func Price(article string) int {
	prices := map[string]int{
		"bread": 350,
		"milk":  120,
	}
	return prices[article]
}

// Total returns the sum of the prices of a basket.
func Total(basket []string) int {
	sum := 0
	for _, article := range basket {
		sum += Price(article)
	}
	return sum
}
`

func scenes() []scene {
	return []scene{{
		name:    "session",
		about:   "A session in a terminal: a change is refused because the file was saved meanwhile, and lands at the second attempt.",
		columns: 100, rows: 32,
		files:  map[string]string{"shop.go": shop},
		script: sessionScript,
		args:   []string{"--model", "script:../turns.json"},
		steps: []step{
			{wait: []string{"type a prompt"}, typed: "Sell cheese for 4.80 in @shop.go "},
			{wait: []string{"@shop.go"}, hold: 2, key: enter},
			{wait: []string{"[n]o"}, hold: 4, save: "shop.go=" + "// Copyright 2026 The shop authors\n\n" + shop, typed: "y"},
			{wait: []string{"saved meanwhile", "[n]o"}, hold: 4, typed: "y"},
			{wait: []string{"still there", "type a prompt"}, hold: 6, key: ctrlD},
		},
	}}
}
