// Words of groups, devices, import and export, in English.

export const words = {
  title: "groups",
} as const;
