/** Tests of the rules for URLs that may be fetched (contract 11.1). */
import { expect } from 'chai'
import { isUrl, mayFetch, mayFollow, upgradeToHttps } from '../../base/url-policy.ts'

const HTTPS = 'https://a.example'
const LOOPBACK = 'http://127.0.0.1'

describe('the URL policy', () => {
  it('distinguishes URLs, valid or not, from paths', () => {
    for (const text of [HTTPS, 'HTTP://a', 'ftp://a', 'https://']) expect(isUrl(text), text).to.equal(true)
    for (const text of ['/data/a.zip', 'a.zip', 'C:\\a.zip', '://a']) expect(isUrl(text), text).to.equal(false)
  })

  it('[11.1] allows https URLs without credentials, and http URLs on loopback addresses', () => {
    for (const text of [HTTPS, `${LOOPBACK}:8080/x`, 'http://localhost/x'])
      expect(mayFetch(new URL(text)), text).to.equal(true)
    const refused = ['http://a.example/x', 'http://127.0.0.1.example/x', 'https://user@a.example', 'ftp://127.0.0.1/x']
    for (const text of [...refused, 'https://user:password@a.example', 'file:///etc/passwd'])
      expect(mayFetch(new URL(text)), text).to.equal(false)
  })

  it('[11.1] follows a redirect to an allowed URL of the same scheme', () => {
    for (const [from, to, isFollowed] of [
      [HTTPS, 'https://b.example', true],
      [HTTPS, 'http://b.example', false],
      [HTTPS, LOOPBACK, false],
      [LOOPBACK, 'http://localhost', true],
      [LOOPBACK, HTTPS, false],
      [HTTPS, 'https://user:password@b.example', false],
    ] as const)
      expect(mayFollow(new URL(from), new URL(to)), `${from} ${to}`).to.equal(isFollowed)
  })

  it('changes an http URL to https if an https URL on the same host names it', () => {
    const upgraded = (from: string, to: string) => upgradeToHttps(new URL(from), new URL(to)).href
    expect(upgraded(HTTPS, 'http://a.example/x?y=z')).to.equal('https://a.example/x?y=z')
    for (const to of ['http://b.example/x', 'http://a.example:8080/x', 'ftp://a.example/x'])
      expect(upgraded(HTTPS, to)).to.equal(to)
    expect(upgraded(`${LOOPBACK}:1/a`, `${LOOPBACK}:1/b`)).to.equal(`${LOOPBACK}:1/b`)
  })
})
