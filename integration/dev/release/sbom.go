package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the modules that a Go program was linked from, as recorded in the
// program, in CycloneDX JSON. It contains no time and no serial number, so that equal
// programs give equal files.
func writeSBOM(program, to string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	main := component(info.Main, cyclonedx.ComponentTypeApplication)
	main.Name = filepath.Base(info.Path)
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	main.Properties = &[]cyclonedx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range info.Settings {
		*main.Properties = append(*main.Properties, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	components := []cyclonedx.Component{{
		BOMRef: "pkg:golang/std@" + info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion,
		Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, component(*m, cyclonedx.ComponentTypeLibrary))
	}
	needs := make([]string, len(components))
	for i, c := range components {
		needs[i] = c.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	err = cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

// component converts a module; its checksum is the one in go.sum.
func component(m debug.Module, kind cyclonedx.ComponentType) cyclonedx.Component {
	address := "pkg:golang/" + m.Path + "@" + m.Version
	c := cyclonedx.Component{BOMRef: address, PackageURL: address, Type: kind, Name: m.Path, Version: m.Version}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}
