// How much of what was received is kept in memory to be looked at, at most.

export const PACKET_LIMITS = {
  ringOctets: 8 * 1024 * 1024,
  mostConversations: 2000,
  mostEach: 64,
  mostStrays: 500,
  mostPerSecond: 4000,
} as const;
