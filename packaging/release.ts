// What names a package: the version of the product, the revision of the package, and who built it.

import type { Sources } from "./stage.ts";

/** One release. */
export interface PackageRelease extends Sources {
  /** 1 for the first package of a version. */
  readonly revision: number;
  /** "Name <address>". */
  readonly maintainer: string;
  /** Packages that are not compressed, for tests. */
  readonly isFast: boolean;
}

/** The version of the Debian package and of the image. */
export const packageVersion = ({ version, revision }: Pick<PackageRelease, "version" | "revision">): string =>
  revision === 1 ? version : `${version}+${revision}`;
