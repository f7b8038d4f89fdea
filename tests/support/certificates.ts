// A certificate authority of the tests, made with the openssl program. No host trusts it.

import { runProgram } from "./child.ts";

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority {
  /** The authority's own certificate. */
  readonly caPem: string;
  readonly caFile: string;
  /** A certificate for a server or a client, such as a user. @param names such as `DNS:localhost` and `IP:127.0.0.1`. */
  issue(names: readonly string[], options?: CertificateOptions): Promise<Certificate>;
}

interface CertificateOptions {
  readonly isRsa?: boolean;
  readonly commonName?: string;
  /** The validity; 2 unless given. Below 0, the certificate has expired. */
  readonly days?: number;
  /** An extended key usage, such as `serverAuth`; absent: none. */
  readonly usage?: string;
}

/** Creates an authority with its files in `folder`, which the caller removes. */
export async function makeAuthority(folder: string): Promise<Authority> {
  const caFile = `${folder}/ca.pem`;
  const caKeyFile = `${folder}/ca.key`;
  await openssl([
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-subj", "/CN=Test authority", "-days", "2", "-keyout", caKeyFile, "-out", caFile],
    ...["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"],
  ]);
  let count = 0;
  return {
    caPem: await Deno.readTextFile(caFile),
    caFile,
    async issue(names, { isRsa = false, commonName = "server", days = 2, usage } = {}) {
      const stem = `${folder}/server-${++count}`;
      const made = { certFile: `${stem}.pem`, keyFile: `${stem}.key` };
      // In a section of its own, a name may contain a comma.
      const alternatives = names.map((name, at) => name.replace(":", `.${at + 1}=`));
      const usages = usage === undefined ? [] : [`extendedKeyUsage=${usage}`];
      const extensions = [...usages, "subjectAltName=@names", "[names]", ...alternatives];
      await Deno.writeTextFile(`${stem}.ext`, `${extensions.join("\n")}\n`);
      const key = isRsa ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
      await openssl([
        ...["req", "-newkey", ...key, "-nodes"],
        ...["-subj", `/CN=${commonName}`, "-keyout", made.keyFile, "-out", `${stem}.csr`],
      ]);
      await openssl([
        ...["x509", "-req", "-in", `${stem}.csr`, "-CA", caFile, "-CAkey", caKeyFile, "-CAcreateserial"],
        ...["-days", String(days), "-extfile", `${stem}.ext`, "-out", made.certFile],
      ]);
      return made;
    },
  };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram("openssl", { args });
  if (code !== 0) {
    throw new Error(`Cannot make a certificate: openssl ${args[0]} ended with ${code}: ${stderr}`);
  }
}
