// Words of sign-in, set-up, administrators, sessions and tokens, in English.

export const words = {
  title: "access",
} as const;
