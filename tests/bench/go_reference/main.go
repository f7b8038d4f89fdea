// The reference of `deno task bench`: what a careful program needs for the same durable work. It stores a challenge,
// a used time step, the history and an index of it before it answers. It has no policies, limits, menu or second try.
//
//	go_reference <port> <file of the store> <shared secret> <password> <TOTP seed in hexadecimal>
package main

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"layeh.com/radius"
	"layeh.com/radius/rfc2865"
	"layeh.com/radius/rfc2869"
)

const stepSeconds = 30

var states, steps, history, byUser = []byte("states"), []byte("steps"), []byte("history"), []byte("by user")

type login struct {
	User, Source, Outcome, Factor string
	Started, Ended                int64
}

type server struct {
	store    *bbolt.DB
	password string
	seed     []byte
}

// code returns the six digits of a time step (RFC 4226 §5.3, RFC 6238 §4).
func (s *server) code(step uint64) string {
	mac := hmac.New(sha1.New, s.seed)
	mac.Write(binary.BigEndian.AppendUint64(nil, step))
	digest := mac.Sum(nil)
	cut := binary.BigEndian.Uint32(digest[digest[19]&15:]) & 0x7fffffff
	return fmt.Sprintf("%06d", cut%1000000)
}

// stepOf returns the time step of a code, at most one before or after now.
func (s *server) stepOf(code string, now uint64) (uint64, bool) {
	for _, step := range []uint64{now, now - 1, now + 1} {
		if subtle.ConstantTimeCompare([]byte(s.code(step)), []byte(code)) == 1 {
			return step, true
		}
	}
	return 0, false
}

// challenge stores a new State. Batch groups the commits of logins in progress; each is synced.
func (s *server) challenge(request *radius.Request) ([]byte, error) {
	state := make([]byte, 16)
	rand.Read(state)
	record, _ := json.Marshal(login{
		User: rfc2865.UserName_GetString(request.Packet), Source: request.RemoteAddr.String(), Started: time.Now().UnixMilli(),
	})
	return state, s.store.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(states).Put(state, record) })
}

// accept ends the login of a State. It returns false if the State or the time step is used.
func (s *server) accept(user string, state []byte, step uint64) (accepted bool, err error) {
	err = s.store.Batch(func(tx *bbolt.Tx) error {
		accepted = false
		var ended login
		if record := tx.Bucket(states).Get(state); record == nil || json.Unmarshal(record, &ended) != nil || ended.User != user {
			return nil
		}
		if used := tx.Bucket(steps).Get([]byte(user)); used != nil && binary.BigEndian.Uint64(used) >= step {
			return nil
		}
		ended.Ended, ended.Outcome, ended.Factor = time.Now().UnixMilli(), "accepted", "totp"
		record, _ := json.Marshal(ended)
		number, _ := tx.Bucket(history).NextSequence()
		key := binary.BigEndian.AppendUint64(nil, number)
		accepted = true
		for _, write := range []error{
			tx.Bucket(steps).Put([]byte(user), binary.BigEndian.AppendUint64(nil, step)),
			tx.Bucket(history).Put(key, record),
			tx.Bucket(byUser).Put(append([]byte(user+"\x00"), key...), nil),
			tx.Bucket(states).Delete(state),
		} {
			if write != nil {
				return write
			}
		}
		return nil
	})
	return accepted && err == nil, err
}

func (s *server) ServeRADIUS(writer radius.ResponseWriter, request *radius.Request) {
	if !isSigned(request.Packet) {
		return
	}
	user, password := rfc2865.UserName_GetString(request.Packet), rfc2865.UserPassword_GetString(request.Packet)
	reply := request.Response(radius.CodeAccessReject)
	if state := rfc2865.State_Get(request.Packet); state != nil {
		if step, isRight := s.stepOf(password, uint64(time.Now().Unix()/stepSeconds)); isRight {
			accepted, err := s.accept(user, state, step)
			if err != nil {
				return
			}
			if accepted {
				reply.Code = radius.CodeAccessAccept
			}
		}
	} else if subtle.ConstantTimeCompare([]byte(password), []byte(s.password)) == 1 {
		state, err := s.challenge(request)
		if err != nil {
			return
		}
		reply.Code = radius.CodeAccessChallenge
		// The Message-Authenticator comes first.
		rfc2869.MessageAuthenticator_Set(reply, make([]byte, 16))
		rfc2865.State_Set(reply, state)
		rfc2865.ReplyMessage_SetString(reply, "Enter your code")
	}
	rfc2869.MessageAuthenticator_Set(reply, make([]byte, 16))
	rfc2869.MessageAuthenticator_Set(reply, signature(reply))
	writer.Write(reply)
}

// signature returns the Message-Authenticator of a packet in which it is zero (RFC 3579 §3.2).
func signature(packet *radius.Packet) []byte {
	octets, _ := packet.MarshalBinary()
	mac := hmac.New(md5.New, packet.Secret)
	mac.Write(octets)
	return mac.Sum(nil)
}

func isSigned(packet *radius.Packet) bool {
	given := rfc2869.MessageAuthenticator_Get(packet)
	if len(given) != 16 {
		return false
	}
	rfc2869.MessageAuthenticator_Set(packet, make([]byte, 16))
	return hmac.Equal(signature(packet), given)
}

func main() {
	port, file, secret, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	seed, err := hex.DecodeString(os.Args[5])
	if err != nil {
		log.Fatal(err)
	}
	store, err := bbolt.Open(file, 0600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		log.Fatal(err)
	}
	// The default of 10 ms is longer than a commit.
	store.MaxBatchDelay = 2 * time.Millisecond
	err = store.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{states, steps, history, byUser} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// The library does not know the Message-Authenticator: isSigned() checks it.
	gateway := radius.PacketServer{
		Addr: "127.0.0.1:" + port, SecretSource: radius.StaticSecretSource([]byte(secret)),
		Handler: &server{store, password, seed}, InsecureSkipVerify: true,
	}
	log.Fatal(gateway.ListenAndServe())
}
