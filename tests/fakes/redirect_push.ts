// Loaded before the program (`--preload`): leads its calls to push hosts to the push service of a test. The product stays as it
// is, and believes in a public address with TLS.

import dns from "node:dns";

const address = Deno.env.get("TEST_PUSH_SERVICE");
const PUSH_HOST =
  /(^|\.)(googleapis\.com|push\.services\.mozilla\.com|push\.apple\.com|notify\.windows\.com)$/;
const realFetch = globalThis.fetch;

globalThis.fetch = (input, init) => {
  const url = URL.parse(String(input));
  if (address === undefined || url === null || !PUSH_HOST.test(url.hostname)) return realFetch(input, init);
  return realFetch(`${address}${url.pathname}`, init);
};

// An address of the documentation range would be refused, because it is not public.
const PUBLIC_ADDRESS = [{ address: "192.88.98.1", family: 4 }];
Object.assign(dns.promises, { lookup: () => Promise.resolve(PUBLIC_ADDRESS) });
