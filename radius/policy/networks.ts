// The network condition of policies: IP addresses and CIDR ranges, compared with the address in Calling-Station-Id.

import { ipOctets } from "../../platform/addresses.ts";

const MAPPED_PREFIX = 96;

/** The address of a login, in four words. IPv4 is in the last word, as in an IPv4-mapped IPv6 address. */
export class AddressWords {
  readonly words = new Int32Array(4);
  isIpv4 = false;
  #text = "";
  #isAddress = false;

  /** Reads an address. Returns whether it is one; a MAC address or another text is none. */
  read(text: string): boolean {
    if (text === this.#text) return this.#isAddress;
    this.#text = text;
    this.#isAddress = this.#readIpv4(text) || this.#readOther(text);
    return this.#isAddress;
  }

  /** Reads four decimal parts without allocating. */
  #readIpv4(text: string): boolean {
    if (text.length < 7 || text.length > 15) return false;
    let word = 0;
    let parts = 0;
    let value = 0;
    let digits = 0;
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : 0x2e;
      if (code === 0x2e) {
        if (digits === 0 || value > 255 || ++parts > 4) return false;
        word = (word << 8) | value;
        value = digits = 0;
      } else if (code >= 0x30 && code <= 0x39) {
        if (digits === 3 || (digits > 0 && value === 0)) return false;
        value = value * 10 + code - 0x30;
        digits++;
      } else return false;
    }
    if (parts !== 4) return false;
    setIpv4(this.words, word);
    this.isIpv4 = true;
    return true;
  }

  #readOther(text: string): boolean {
    if (!text.includes(":")) return false;
    const octets = ipOctets(text);
    if (octets === null) return false;
    setOctets(this.words, octets);
    this.isIpv4 = octets.length === 4;
    return true;
  }
}

function setIpv4(words: Int32Array, word: number): void {
  words[0] = 0;
  words[1] = 0;
  words[2] = 0xffff;
  words[3] = word;
}

function setOctets(words: Int32Array, octets: Uint8Array): void {
  const word = (at: number) =>
    ((octets[at] as number) << 24) | ((octets[at + 1] as number) << 16) |
    ((octets[at + 2] as number) << 8) | (octets[at + 3] as number);
  if (octets.length === 4) return setIpv4(words, word(0));
  for (let at = 0; at < 4; at++) words[at] = word(4 * at);
}

/** A list of networks. */
export class NetworkList {
  /** For each network four words of its address and four of its mask. */
  readonly #words: Int32Array;
  /** Whether each network is one of IPv4. `::/0` contains no IPv4 address. */
  readonly #isIpv4: readonly boolean[];
  /** Whether one of the networks is `0.0.0.0/0`. */
  readonly containsAllIpv4: boolean;

  /** @param ranges canonical addresses and CIDR ranges @throws TypeError for anything else */
  constructor(ranges: readonly string[]) {
    this.#words = new Int32Array(ranges.length * 8);
    this.containsAllIpv4 = ranges.includes("0.0.0.0/0");
    this.#isIpv4 = ranges.map((range) => !range.includes(":"));
    for (const [at, range] of ranges.entries()) this.#add(at * 8, range);
  }

  #add(at: number, range: string): void {
    const [address = "", prefixText] = range.split("/");
    const octets = ipOctets(address);
    if (octets === null) throw new TypeError(`"${range}" is not a network`);
    const bits = prefixText === undefined ? octets.length * 8 : Number(prefixText);
    const prefix = octets.length === 4 ? bits + MAPPED_PREFIX : bits;
    setOctets(this.#words.subarray(at, at + 4), octets);
    for (let word = 0; word < 4; word++) {
      const ones = Math.max(0, Math.min(32, prefix - 32 * word));
      this.#words[at + 4 + word] = ones === 0 ? 0 : -1 << (32 - ones);
    }
  }

  contains({ words, isIpv4 }: AddressWords): boolean {
    const own = this.#words;
    for (let at = 0; at < own.length; at += 8) {
      let isInside = this.#isIpv4[at >> 3] === isIpv4;
      for (let word = 0; isInside && word < 4; word++) {
        const mask = own[at + 4 + word] as number;
        isInside = ((words[word] as number) & mask) === ((own[at + word] as number) & mask);
      }
      if (isInside) return true;
    }
    return false;
  }
}
