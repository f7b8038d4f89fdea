// The key under which limits count a source address: an IPv4 address, or the first 64 bits of an IPv6 address.

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

/** Of an IPv6 address the first 64 bits: one network may use all addresses below them. */
export function sourceKey(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = MAPPED_IPV4.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groupsOf = (text: string) => text === "" ? [] : text.split(":");
  const front = groupsOf(head);
  const back = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : Math.max(0, IPV6_GROUPS - front.length - back.length);
  const groups = [...front, ...Array<string>(missing).fill("0"), ...back].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
