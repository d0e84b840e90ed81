/** Which URLs the service may fetch: https URLs, and http URLs on a loopback address (contract 11.1). */

/** Whether a location is written as a URL, valid or not. Any other location is a path on disk. */
export function isUrl(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location)
}

export function parseUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined
}

/** A host as it is written in a URL: an IPv6 address is in brackets. */
export function toUrlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Whether a URL may be fetched. URLs with credentials are refused, because locations are stored and logged. */
export function mayFetch(url: URL): boolean {
  if (url.username || url.password) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/** Whether a redirect may be followed: from https to https, or from one loopback address to another. */
export function mayFollow(from: URL, to: URL): boolean {
  return to.protocol === from.protocol && mayFetch(to)
}

/** Changes an http URL to https if an https URL on the same host refers to it. Returns any other URL unchanged. */
export function upgradeToHttps(from: URL, to: URL): URL {
  const isSameHost = from.protocol === 'https:' && to.protocol === 'http:' && to.host === from.host
  return isSameHost ? new URL(to.href.replace(/^http:/, 'https:')) : to
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(hostname)
}
