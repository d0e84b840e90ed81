/** Tests of the rules for URLs that may be fetched (contract 11.7). */
import { expect } from 'chai'
import { isLoopback, isUrl, mayFetch, mayFollow, upgradeToHttps } from '../../../store/base/url-policy.ts'

const url = (text: string) => new URL(text)

describe('the URL policy', () => {
  it('distinguishes URLs, valid or not, from paths', () => {
    for (const text of ['https://a.example', 'HTTP://a', 'ftp://a', 'https://'])
      expect(isUrl(text), text).to.equal(true)
    for (const text of ['/data/a.zip', 'a.zip', 'C:\\a.zip', '://a']) expect(isUrl(text), text).to.equal(false)
  })

  it('recognises loopback hosts', () => {
    for (const host of ['localhost', '127.0.0.1', '127.9.8.7', '[::1]']) expect(isLoopback(host), host).to.equal(true)
    for (const host of ['127.0.0.1.example', '10.0.0.1', '[::2]', '']) expect(isLoopback(host), host).to.equal(false)
  })

  for (const [text, isAllowed] of [
    ['https://a.example/x', true],
    ['http://127.0.0.1:8080/x', true],
    ['http://localhost/x', true],
    ['http://a.example/x', false],
    ['http://192.0.2.1/x', false],
    ['http://127.0.0.1.example/x', false],
    ['https://user:password@a.example/x', false],
    ['https://user@a.example/x', false],
    ['ftp://127.0.0.1/x', false],
    ['file:///etc/passwd', false],
  ] as const) {
    it(`[11.7] ${isAllowed ? 'allows' : 'refuses'} ${text}`, () => {
      expect(mayFetch(url(text))).to.equal(isAllowed)
    })
  }

  for (const [from, to, isAllowed] of [
    ['https://a.example', 'https://b.example', true],
    ['https://a.example', 'http://b.example', false],
    ['https://a.example', 'http://127.0.0.1', false],
    ['http://127.0.0.1', 'http://localhost', true],
    ['http://127.0.0.1', 'https://a.example', false],
    ['https://a.example', 'https://user:password@b.example', false],
  ] as const) {
    it(`[11.7] ${isAllowed ? 'follows' : 'does not follow'} a redirect from ${from} to ${to}`, () => {
      expect(mayFollow(url(from), url(to))).to.equal(isAllowed)
    })
  }

  for (const [from, to, upgraded] of [
    ['https://a.example', 'http://a.example/x?y=z', 'https://a.example/x?y=z'],
    ['https://a.example', 'http://b.example/x', 'http://b.example/x'],
    ['https://a.example', 'http://a.example:8080/x', 'http://a.example:8080/x'],
    ['https://a.example', 'ftp://a.example/x', 'ftp://a.example/x'],
    ['http://127.0.0.1:1/a', 'http://127.0.0.1:1/b', 'http://127.0.0.1:1/b'],
  ] as const) {
    it(`changes ${to}, named by ${from}, to ${upgraded}`, () => {
      expect(upgradeToHttps(url(from), url(to)).href).to.equal(upgraded)
    })
  }
})
