// What each setting means: in English the settings' own table says it, and the answer of the server brings those sentences.

export const words = {} as const;
