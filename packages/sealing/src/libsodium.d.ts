/** The raw library: its functions take addresses in its memory. */
declare module 'libsodium' {
  interface Sodium {
    /** The memory of the library. It grows, and this view with it, only when blocks are allocated. */
    readonly HEAPU8: Uint8Array<ArrayBuffer>
    readonly _malloc: (bytes: number) => number
    readonly _crypto_aead_chacha20poly1305_ietf_encrypt: (
      sealed: number,
      sealedBytesAt: number,
      text: number,
      textBytes: number,
      textBytesHigh: number,
      context: number,
      contextBytes: number,
      contextBytesHigh: number,
      unused: number,
      nonce: number,
      key: number,
    ) => number
    /** Returns 0 if the text is authentic. */
    readonly _crypto_aead_chacha20poly1305_ietf_decrypt: (
      text: number,
      textBytesAt: number,
      unused: number,
      sealed: number,
      sealedBytes: number,
      sealedBytesHigh: number,
      context: number,
      contextBytes: number,
      contextBytesHigh: number,
      nonce: number,
      key: number,
    ) => number
  }
  export default function createSodium(): Promise<Sodium>
}
