package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// Parts of bbolt's file format, version 2. Numbers are in native byte order, which is little-endian
// on all supported machines.
const (
	pageHeader   = 16
	elementSize  = 16
	bucketHeader = 16
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2

	flagBranch = 0x01
	flagLeaf   = 0x02
	flagMeta   = 0x04

	flagBucket = 0x01 // of a leaf's element

	maxDepth = 64
)

// checker reads a whole bbolt file and finds corruption without bbolt, which panics on it, partly
// in goroutines that cannot be recovered.
type checker struct {
	file     io.ReaderAt
	pageSize int64
	pages    uint64 // in use or free for use
	seen     map[uint64]bool
	// entry is called with each key and value and the name of their bucket.
	entry func(bucket, key, value []byte) error
}

// check reads the file and calls entry with every key and value. Both meta pages must be valid:
// without the newest one the last commits would be missing.
func check(file io.ReaderAt, pageSize int, entry func(bucket, key, value []byte) error) error {
	c := &checker{file: file, pageSize: int64(pageSize), seen: make(map[uint64]bool), entry: entry}
	var root, newest uint64
	for id := range uint64(2) {
		page, err := c.read(int64(id)*c.pageSize, pageSize)
		if err != nil {
			return err
		}
		at, txid, pages, err := meta(id, page, pageSize)
		if err != nil {
			return fmt.Errorf("description %d: %w", id, err)
		}
		if id == 0 || txid > newest {
			root, newest, c.pages = at, txid, pages
		}
	}
	_, err := c.walk(root, tree{})
	return err
}

// meta decodes one of the two meta pages.
func meta(id uint64, page []byte, pageSize int) (root, txid, pages uint64, err error) {
	if number, flags := binary.LittleEndian.Uint64(page), binary.LittleEndian.Uint16(page[8:]); number != id || flags != flagMeta {
		return 0, 0, 0, fmt.Errorf("page %d with flags %#x", number, flags)
	}
	body := page[pageHeader : pageHeader+metaSize]
	hash := fnv.New64a()
	_, _ = hash.Write(body[:metaSize-8])
	switch {
	case binary.LittleEndian.Uint32(body) != metaMagic, binary.LittleEndian.Uint32(body[4:]) != metaVersion, binary.LittleEndian.Uint32(body[8:]) != uint32(pageSize):
		return 0, 0, 0, errors.New("no bbolt file")
	case binary.LittleEndian.Uint64(body[metaSize-8:]) != hash.Sum64():
		return 0, 0, 0, errors.New("wrong checksum")
	}
	return binary.LittleEndian.Uint64(body[16:]), binary.LittleEndian.Uint64(body[48:]), binary.LittleEndian.Uint64(body[40:]), nil
}

func (c *checker) read(offset int64, size int) ([]byte, error) {
	page := make([]byte, size)
	if _, err := c.file.ReadAt(page, offset); err != nil {
		return nil, fmt.Errorf("%d bytes at %d: %w", size, offset, err)
	}
	return page, nil
}

// page reads a page with its overflow pages. No page may belong to two.
func (c *checker) page(id uint64, depth int) ([]byte, error) {
	if id < 2 || id >= c.pages || depth > maxDepth {
		return nil, fmt.Errorf("at depth %d, expected a page from 2 to %d at %d at most", depth, c.pages-1, maxDepth)
	}
	offset := int64(id) * c.pageSize
	header, err := c.read(offset, pageHeader)
	if err != nil {
		return nil, err
	}
	number, overflow := binary.LittleEndian.Uint64(header), uint64(binary.LittleEndian.Uint32(header[12:]))
	if number != id || overflow >= c.pages-id {
		return nil, fmt.Errorf("number %d, continued on %d pages of %d", number, overflow, c.pages)
	}
	for part := id; part <= id+overflow; part++ {
		if c.seen[part] {
			return nil, fmt.Errorf("page %d is used twice", part)
		}
		c.seen[part] = true
	}
	return c.read(offset, int(int64(overflow+1)*c.pageSize))
}

// tree is one part of a bucket.
type tree struct {
	bucket []byte // its name, nil for that of all buckets
	least  []byte // the smallest key that it may have
	after  []byte // the key before it, nil if there is none
	depth  int
}

// walk checks a page and all below it, and returns the last key.
func (c *checker) walk(id uint64, t tree) (last []byte, err error) {
	page, err := c.page(id, t.depth)
	if err == nil {
		last, err = c.elements(page, t)
	}
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return last, nil
}

// elements checks the elements of a page and returns the last key.
func (c *checker) elements(page []byte, t tree) (last []byte, err error) {
	flags, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	if flags != flagBranch && flags != flagLeaf || pageHeader+count*elementSize > len(page) || flags == flagBranch && count == 0 {
		return nil, fmt.Errorf("flags %#x and %d elements", flags, count)
	}
	for i := range count {
		from := page[pageHeader+i*elementSize:]
		if flags == flagLeaf {
			t.after, err = c.leaf(from, t)
		} else {
			t.after, err = c.branch(from, t)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return t.after, nil
}

// sliceAt returns the bytes at an offset from an element.
func sliceAt(from []byte, position, size uint32) ([]byte, error) {
	if position < elementSize || uint64(position)+uint64(size) > uint64(len(from)) {
		return nil, fmt.Errorf("%d bytes at %d are beyond the page", size, position)
	}
	return from[position : position+size], nil
}

// checkOrder checks the order of a key.
func (t tree) checkOrder(key []byte) error {
	if bytes.Compare(key, t.least) < 0 || t.after != nil && bytes.Compare(key, t.after) <= 0 {
		return fmt.Errorf("key %q, expected %q at least and more than %q", key, t.least, t.after)
	}
	return nil
}

// branch checks an element that refers to another page.
func (c *checker) branch(from []byte, t tree) (last []byte, err error) {
	key, err := sliceAt(from, binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[4:]))
	if err == nil {
		err = t.checkOrder(key)
	}
	if err != nil {
		return nil, err
	}
	t.least, t.depth = key, t.depth+1
	return c.walk(binary.LittleEndian.Uint64(from[8:]), t)
}

// leaf checks an element that holds a key and its value or bucket.
func (c *checker) leaf(from []byte, t tree) (last []byte, err error) {
	flags, position := binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[4:])
	keySize, valueSize := binary.LittleEndian.Uint32(from[8:]), binary.LittleEndian.Uint32(from[12:])
	key, err := sliceAt(from, position, keySize)
	if err == nil {
		err = t.checkOrder(key)
	}
	if err != nil {
		return nil, err
	}
	value, err := sliceAt(from, position+keySize, valueSize)
	switch {
	case err != nil:
		return nil, err
	case flags == 0 && t.bucket != nil:
		return key, c.entry(t.bucket, key, value)
	case flags != flagBucket || t.bucket != nil || len(value) < bucketHeader:
		return nil, fmt.Errorf("key %q has flags %#x and %d bytes", key, flags, len(value))
	}
	inside := tree{bucket: key, depth: t.depth + 1}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		_, err = c.walk(root, inside)
	} else if inline := value[bucketHeader:]; len(inline) < pageHeader {
		err = fmt.Errorf("%d bytes", len(inline))
	} else {
		_, err = c.elements(inline, inside)
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", key, err)
	}
	return key, nil
}
