package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"
)

// report measures, or reads a finished run, and shows it. failed reports that a contestant failed.
func report(ctx context.Context, o *options, cases []Case, stdout, stderr io.Writer) (failed bool, err error) {
	var info RunInfo
	var results []Result
	if o.from != "" {
		info, results, err = readRun(o.from, cases)
	} else {
		info, results, err = measureAll(ctx, o, cases, stdout, stderr)
	}
	if err != nil {
		return false, err
	}
	if o.json != "-" {
		if err := printTable(stdout, results); err != nil {
			return false, err
		}
	}
	if o.write {
		written, err := writeDocs(o.docs, info, results)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(stderr, "wrote %d files in %s\n", written, o.docs)
	}
	wrong := failures(results)
	for _, text := range wrong {
		fmt.Fprintln(stderr, "failed:", text)
	}
	if warning := info.busy(); warning != "" {
		fmt.Fprintln(stderr, "warning:", warning)
	}
	return len(wrong) > 0, nil
}

func readRun(path string, cases []Case) (RunInfo, []Result, error) {
	in, err := os.Open(path)
	if err != nil {
		return RunInfo{}, nil, err
	}
	info, results, err := readLines(in, cases)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return info, results, errors.Join(err, in.Close())
}

// measureAll measures cases in their order. It writes each JSON line at once, so that an
// interrupted run has the lines of its finished cases.
func measureAll(ctx context.Context, o *options, cases []Case, stdout, stderr io.Writer) (info RunInfo, results []Result, err error) {
	lines := lineWriter{}
	switch o.json {
	case "":
	case "-":
		lines.w = stdout
	default:
		file, err := os.Create(o.json)
		if err != nil {
			return info, nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		lines.w = file
	}
	lab, err := NewLab(o.full, func(format string, args ...any) { fmt.Fprintf(stderr, "  "+format+"\n", args...) })
	if err != nil {
		return info, nil, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	info = about(ctx, lab, o.pace)
	if warning := info.busy(); warning != "" {
		fmt.Fprintln(stderr, "warning:", warning)
	}
	if err := lines.run(info); err != nil {
		return info, nil, err
	}
	for i, c := range cases {
		began := time.Now()
		r, err := measure(ctx, lab, c, o.pace)
		if err != nil {
			return info, nil, err
		}
		fmt.Fprintf(stderr, "[%d/%d] %s %.1f s%s\n", i+1, len(cases), c.ID, time.Since(began).Seconds(), r.remark())
		if err := lines.result(r); err != nil {
			return info, nil, err
		}
		results = append(results, r)
	}
	maps.Copy(info.Versions, lab.used())
	return info, results, lines.run(info)
}

// remark lists the contestants that did not take part, for the progress output.
func (r *Result) remark() string {
	text := ""
	for _, o := range r.Outcomes {
		switch {
		case o.Failed != "":
			text += "; " + o.Name + " failed: " + firstOf(o.Failed)
		case o.Skipped != "":
			text += "; " + o.Name + " skipped: " + firstOf(o.Skipped)
		}
	}
	return text
}
