package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// callTimeout bounds a call with its retries, transferTimeout that of an upload.
	callTimeout     = time.Minute
	transferTimeout = 10 * time.Minute
	// metadataTimeout bounds asking for the credentials of the machine, which most machines lack.
	metadataTimeout = 2 * time.Second

	// blockSize and blocks are of the cache of what readers of Parquet ask for in small pieces.
	blockSize = 1 << 20
	blocks    = 64

	// sumKey is the metadata of an object with the hex SHA-256 of its content.
	sumKey = "Sha256"
)

// buckets is the buckets of the service that the environment names.
type buckets struct{}

// service is the connection to a service.
type service struct {
	minio.Core
	endpoint string
	blocks   *lru.Cache[block, []byte]
}

// block is the place of a block of an object.
type block struct {
	bucket, key, version string
	number               int64
}

// services are the connections of the process by endpoint, as http.DefaultTransport has those of
// all clients.
var services = struct {
	sync.Mutex
	byEndpoint map[string]*service
}{byEndpoint: make(map[string]*service)}

// connect returns the connection to the service that the environment names, and where in it a path
// is. It sends nothing.
func connect(name string) (s *service, bucket, key string, err error) {
	if bucket, key = split(name); bucket == "" {
		return nil, "", "", fmt.Errorf("%s names no bucket: expected s3://bucket/prefix", name)
	}
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	services.Lock()
	defer services.Unlock()
	if s = services.byEndpoint[endpoint]; s == nil {
		if s, err = dial(endpoint); err != nil {
			return nil, "", "", fmt.Errorf("%s: %w", name, err)
		}
		services.byEndpoint[endpoint] = s
	}
	return s, bucket, key, nil
}

// dial returns the connection to a service.
func dial(endpoint string) (*service, error) {
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" {
		return nil, errors.New("AWS_ENDPOINT_URL: expected http:// or https:// with host and port alone, e.g. https://s3.example.com")
	}
	client, err := minio.New(at.Host, &minio.Options{
		Secure: at.Scheme == "https", Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}},
		}),
	})
	if err != nil {
		return nil, err
	}
	cache, err := lru.New[block, []byte](blocks)
	return &service{minio.Core{Client: client}, endpoint, cache}, err
}

// object is an open object of one version.
type object struct {
	service *service
	name    string
	at      block
	size    int64
	sum     string // empty if it is not stored
}

func (o *object) Size() int64 { return o.size }

func (o *object) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (o *object) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && offset < o.size {
		data, err := o.block(offset / blockSize)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], data[offset%blockSize:])
		n, offset = n+copied, offset+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// block returns a block of the object.
func (o *object) block(number int64) ([]byte, error) {
	at := o.at
	at.number = number
	if data, ok := o.service.blocks.Get(at); ok {
		return data, nil
	}
	options := minio.GetObjectOptions{}
	from, to := number*blockSize, min((number+1)*blockSize, o.size)
	if err := errors.Join(options.SetRange(from, to-1), options.SetMatchETag(at.version)); err != nil {
		return nil, err
	}
	data, _, err := o.service.get(o.name, options)
	if err == nil && int64(len(data)) != to-from {
		err = o.service.wrap("read", o.name, fmt.Errorf("%d bytes from %d on: %w", len(data), from, io.ErrUnexpectedEOF))
	}
	if err != nil {
		return nil, err
	}
	o.service.blocks.Add(at, data)
	return data, nil
}

// get reads an object.
func (s *service) get(name string, options minio.GetObjectOptions) ([]byte, minio.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), transferTimeout)
	defer cancel()
	bucket, key := split(name)
	body, info, _, err := s.GetObject(ctx, bucket, key, options)
	if err != nil {
		return nil, info, s.wrap("read", name, err)
	}
	data, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, info, s.wrap("read", name, err)
	}
	return data, info, nil
}

// stat returns an object without its content.
func (buckets) stat(name string) (*object, error) {
	s, bucket, key, err := connect(name)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	info, err := s.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return nil, s.wrap("open", name, err)
	}
	return &object{s, name, block{bucket, key, info.ETag, 0}, info.Size, info.UserMetadata[sumKey]}, nil
}

func (b buckets) open(name string) (File, error) {
	found, err := b.stat(name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (buckets) read(name string) ([]byte, string, error) {
	s, _, _, err := connect(name)
	if err != nil {
		return nil, "", err
	}
	data, info, err := s.get(name, minio.GetObjectOptions{})
	return data, info.ETag, err
}

func (b buckets) size(name string) (int64, error) {
	found, err := b.stat(name)
	if err != nil {
		return 0, err
	}
	return found.size, nil
}

func (b buckets) sum(name string) (string, error) {
	found, err := b.stat(name)
	switch {
	case err != nil:
		return "", err
	case found.sum != "":
		return found.sum, nil
	default:
		return sumOf(found)
	}
}

func (buckets) list(name string) ([]string, error) {
	s, bucket, key, err := connect(name)
	if err != nil {
		return nil, err
	}
	if key != "" {
		key += "/"
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var names []string
	for found := range s.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: key}) {
		if found.Err != nil {
			return nil, s.wrap("list", name, found.Err)
		}
		if entry := strings.TrimPrefix(found.Key, key); entry != "" {
			names = append(names, entry)
		}
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "list", Path: name, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return names, nil
}

// put stores an object, on the condition that options have. If an attempt whose answer was lost has
// stored it already, that is no other client.
func (buckets) put(name string, data io.ReadSeeker, size int64, digest string, condition func(*minio.PutObjectOptions)) (version string, err error) {
	s, bucket, key, err := connect(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), transferTimeout)
	defer cancel()
	options := minio.PutObjectOptions{DisableMultipart: true, UserMetadata: map[string]string{sumKey: digest}}
	options.DisableContentSha256 = size == 0 // the client would send an empty signed stream without a length
	condition(&options)
	info, err := s.Client.PutObject(ctx, bucket, key, data, size, options)
	if err = s.wrap("write", name, err); !errors.Is(err, ErrChanged) {
		return info.ETag, err
	}
	if found, missing := (buckets{}).stat(name); missing == nil && found.sum == digest {
		return found.at.version, nil
	}
	return "", err
}

func (b buckets) write(name string, data []byte, _ bool) error {
	_, err := b.put(name, bytes.NewReader(data), int64(len(data)), hexSum(data), func(*minio.PutObjectOptions) {})
	return err
}

func (b buckets) writeVersion(name string, data []byte, version string) (string, error) {
	return b.put(name, bytes.NewReader(data), int64(len(data)), hexSum(data), func(options *minio.PutObjectOptions) {
		if version == "" {
			options.SetMatchETagExcept("*")
		} else {
			options.SetMatchETag(version)
		}
	})
}

func (buckets) create(string) (*os.File, error) { return os.CreateTemp("", "toolsandbox-part-") }

func (b buckets) publish(prepared, name, digest string) (err error) {
	file, err := os.Open(prepared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(prepared)) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, err = b.put(name, file, info.Size(), digest, func(options *minio.PutObjectOptions) { options.SetMatchETagExcept("*") })
	return err
}

// sync has nothing to do: an object lasts once the service has answered.
func (buckets) sync(string) error { return nil }

func (buckets) remove(name string) error {
	s, bucket, key, err := connect(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return s.wrap("remove", name, s.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{}))
}

func (b buckets) rename(from, to string) error {
	s, bucket, key, err := connect(from)
	if err != nil {
		return err
	}
	target, renamed := split(to)
	ctx, cancel := context.WithTimeout(context.Background(), transferTimeout)
	defer cancel()
	_, err = s.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: target, Object: renamed}, minio.CopySrcOptions{Bucket: bucket, Object: key})
	if err != nil {
		return s.wrap("rename", from, err)
	}
	return b.remove(from)
}

func changed(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: ErrChanged} }

// wrap names the path of an error and what was expected.
func (s *service) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	bucket, _ := split(name)
	switch answer := minio.ToErrorResponse(err); answer.Code {
	case "NoSuchKey":
		err = fs.ErrNotExist
	case "PreconditionFailed", "ConditionalRequestConflict":
		return changed(op, name)
	case "NoSuchBucket":
		err = fmt.Errorf("bucket %s does not exist at %s: make it, or name another one", bucket, s.endpoint)
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		err = fmt.Errorf("%s answers %s: expected credentials for bucket %s in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in the profile AWS_PROFILE, or of the machine",
			s.endpoint, answer.Code, bucket)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
