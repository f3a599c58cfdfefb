package pglocal

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/xi2/xz"
)

// extract unpacks the one .txz of the jar (bin, lib, share) into the new folder dir, readable by every user. Nothing
// is written outside dir, whatever the archive says.
func extract(jar, dir string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, ".txz") {
			return extractEntry(entry, dir)
		}
	}
	return errors.New("it holds no .txz file")
}

func extractEntry(entry *zip.File, dir string) error {
	packed, err := entry.Open()
	if err != nil {
		return err
	}
	defer packed.Close()
	unpacked, err := xz.NewReader(packed, 0)
	if err != nil {
		return err
	}
	if err := mkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return untar(tar.NewReader(unpacked), root)
}

func untar(archive *tar.Reader, root *os.Root) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := place(archive, header, root); err != nil {
			return fmt.Errorf("placing %s: %w", header.Name, err)
		}
	}
}

// place writes one entry; devices and the like are left out.
func place(archive io.Reader, header *tar.Header, root *os.Root) error {
	name := path.Clean(header.Name)
	if err := makeFolders(root, path.Dir(name)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return makeFolders(root, name)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return root.Link(path.Clean(header.Linkname), name)
	case tar.TypeReg:
		return writeFile(archive, root, name, fileMode(header))
	}
	return nil
}

func fileMode(header *tar.Header) os.FileMode {
	if header.Mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// makeFolders makes name and what is above it, open to all also under a strict umask.
func makeFolders(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := makeFolders(root, path.Dir(name)); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, 0o755)
}

func writeFile(content io.Reader, root *os.Root, name string, mode os.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Chmod(mode), file.Close())
}
