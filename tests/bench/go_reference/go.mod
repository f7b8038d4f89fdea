module countersign.invalid/go_reference

go 1.25.0

require (
	go.etcd.io/bbolt v1.5.0
	layeh.com/radius v0.0.0-20231213012653-1006025d24f8
)

require golang.org/x/sys v0.45.0 // indirect
