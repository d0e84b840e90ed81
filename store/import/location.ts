/** Where a dataset may come from: a path on disk, an https URL, or an http URL that stays on this machine. */

/** Whether a location is a URL, right or wrong, and not a path. */
export function isUrl(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location)
}

/** `URL.parse` of later Node versions. */
export function parseUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined
}

/** Whether we ask there at all: nothing is taken from a wire that others may write to, and no password is kept. */
export function mayFetch(url: URL): boolean {
  if (url.username || url.password) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/** Whether one URL may send us on to another: within https, or from one loopback address to another. */
export function mayFollow(from: URL, to: URL): boolean {
  return to.protocol === from.protocol && mayFetch(to)
}

/** The https form of an http URL that an https URL of the same host names; any other as it is. */
export function upgraded(from: URL, to: URL): URL {
  const isSameHost = from.protocol === 'https:' && to.protocol === 'http:' && to.host === from.host
  return isSameHost ? new URL(to.href.replace(/^http:/, 'https:')) : to
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(hostname)
}
