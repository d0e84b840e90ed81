/** Whether a content type is `application/json`, with any parameters. */
export function isJsonType(contentType: string): boolean {
  return /^application\/json[ \t]*(;|$)/i.test(contentType)
}
