package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// fileSuffix makes of a secret's key the key of the file that holds it.
const fileSuffix = "File"

// maxSecretBytes bounds a secret's file.
const maxSecretBytes = 64 << 10

// siblingOf finds the other form of a secret: x for xFile, and the reverse.
func siblingOf(all []setting, path string) (setting, bool) {
	for _, s := range all {
		if s.path+fileSuffix == path || path+fileSuffix == s.path {
			return s, true
		}
	}
	return setting{}, false
}

// secretFiles reads the files of all secrets given as xFile.
func (l *loader) secretFiles() {
	walk("", reflect.ValueOf(l.config).Elem(), func(path string, v reflect.Value) {
		if v.Kind() != reflect.Struct || isLeaf(v.Type()) {
			return
		}
		fields := fieldsOf(v.Type())
		for _, f := range fields {
			secret, ok := fieldNamed(fields, strings.TrimSuffix(f.name, fileSuffix))
			if !ok || secret.name == f.name {
				continue
			}
			if file := v.FieldByIndex(f.index).String(); file != "" {
				l.secretFile(join(path, secret.name), join(path, f.name), file, v.FieldByIndex(secret.index))
			}
		}
	})
}

func (l *loader) secretFile(path, filePath, file string, target reflect.Value) {
	l.suspect[path] = true // its value is this one's business
	if _, given := l.origins[path]; given {
		l.problemAt(filePath, "is given beside "+path+": keep one")
		return
	}
	content, err := ReadSecret(file)
	if err != nil {
		l.problemAt(filePath, err.Error())
		content = Hidden // so that nothing else complains of a missing secret
	}
	if target.Kind() == reflect.String {
		target.SetString(content)
		return
	}
	var lines []Secret
	named := map[string]Secret{}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines = append(lines, Secret(line))
		if i := strings.IndexAny(line, "=:"); i > 0 { // NAME=value, or Name: value
			named[strings.TrimSpace(line[:i])] = Secret(strings.TrimSpace(line[i+1:]))
		} else if target.Kind() == reflect.Map {
			l.problemAt(filePath, file+" holds a line without a name: write NAME=value or Name: value")
			return
		}
	}
	if target.Kind() == reflect.Map {
		target.Set(reflect.ValueOf(named))
		return
	}
	target.Set(reflect.ValueOf(lines))
}

// ReadSecret returns a file's content without its trailing newline.
func ReadSecret(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("cannot read %s: name a regular file", name)
	}
	content, err := readFile(name, maxSecretBytes)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if strings.TrimSpace(secret) == "" {
		return "", fmt.Errorf("%s is empty: write the secret into it", name)
	}
	return secret, nil
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d KiB: name the right file", name, limit>>10)
	}
	return content, nil
}

// reason is what is left of a file error when the name is said already.
func reason(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}
