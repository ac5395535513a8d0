// Package etcd names the program that build-programs.ts builds, so that go.mod and go.sum pin everything that it needs.
package etcd

import _ "go.etcd.io/etcd/server/v3"
