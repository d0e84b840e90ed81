/** The server's requests and responses: Express's own from the start, and each application's own. */
import { createServer } from 'node:http'
import express from 'express'
import { expect } from 'chai'
import { expressMessages } from '../../rest-facade/messages.ts'
import { listen } from '../bench/shop.ts'

describe('the messages of the server', () => {
  async function serve(name: string) {
    const app = express()
    app.get('/', (request, response) => {
      response.json({ name: (request.app as { locals: { name?: string } }).locals.name, host: request.get('Host') })
    })
    app.locals['name'] = name
    const messages = expressMessages()
    const wereOwn: boolean[] = []
    const server = createServer(messages.options, (request, response) => {
      const own = [Object.getPrototypeOf(request) === app.request, Object.getPrototypeOf(response) === app.response]
      wereOwn.push(...own)
      app(request, response)
    })
    messages.adoptBy(app)
    return { ...(await listen(server)), wereOwn }
  }

  it('have the prototypes that Express would give them, of their own application', async () => {
    const [one, other] = [await serve('one'), await serve('other')]
    for (const [name, { url, wereOwn }] of Object.entries({ one, other })) {
      const response = await fetch(url)
      expect(await response.json()).to.deep.equal({ name, host: new URL(url).host })
      expect(response.headers.get('ETag')).to.be.a('string')
      expect(wereOwn).to.deep.equal([true, true])
    }
    one.close()
    other.close()
  })
})
