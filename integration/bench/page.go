package main

func writeDocs(dir string, info RunInfo, results []Result) (int, error) { return 0, nil }
