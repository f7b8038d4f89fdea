// Words of RADIUS clients, targets, credentials and health, in English.

export const words = {
  title: "connect",
} as const;
