// A new password as the two kinds of directory take it: the Password Modify operation (RFC 3062), or Active Directory's attribute.

/** RFC 3062 §2. */
export const PASSWORD_MODIFY_OID = "1.3.6.1.4.1.4203.1.11.1";

const SEQUENCE = 0x30;
const USER_IDENTITY = 0x80;
const NEW_PASSWORD = 0x82;

/** PasswdModifyRequestValue of RFC 3062 §2, without an old password: the server hashes the new one. */
export function encodePasswordModify(dn: string, password: string): Uint8Array {
  const text = new TextEncoder();
  return tagged(SEQUENCE, [
    ...tagged(USER_IDENTITY, text.encode(dn)),
    ...tagged(NEW_PASSWORD, text.encode(password)),
  ]);
}

/** X.690 §8.1.3, definite lengths. */
function tagged(tag: number, content: Uint8Array | readonly number[]): Uint8Array {
  const { length } = content;
  const head = length < 0x80
    ? [tag, length]
    : length < 0x1_0000
    ? [tag, 0x82, length >> 8, length & 0xff]
    : [tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Uint8Array.from([...head, ...content]);
}

/** `unicodePwd` of [MS-ADTS] §3.1.1.3.1.5: in quotes, UTF-16, low octet first. */
export function encodeUnicodePassword(password: string): Uint8Array {
  const quoted = `"${password}"`;
  const octets = new Uint8Array(quoted.length * 2);
  const view = new DataView(octets.buffer);
  for (let at = 0; at < quoted.length; at++) view.setUint16(at * 2, quoted.charCodeAt(at), true);
  return octets;
}
