#include "tests/support/loopback_shuffler.hpp"

#include <boost/asio/post.hpp>
#include <future>

#include "shuffler/host/sealing_key_file.hpp"

namespace undertone::tests {

LoopbackShuffler::Running::Running(const shuffler::ShufflerConfig& config, const std::string& secret,
                                   shuffler::Permuter* other)
    : database(store::Database::open(config.store, store::Database::Sync::Normal).value()),
      store(shuffler::BatchStore::open(database).value()),
      permuter(crypto::SecureBits::from_os()),
      adder(sealed::SealingKey::from_secret(secret).value()),
      host(context, config,
           {store, other != nullptr ? *other : permuter, adder,
            shuffler::public_key_of(sealed::SealingKey::from_secret(secret).value())}),
      port(host.start().value()),
      thread([this] { context.run(); }) {}

LoopbackShuffler::Running::~Running() {
  context.stop();
  thread.join();
}

LoopbackShuffler::LoopbackShuffler(Certificates& certificates, const std::string& name, const Change& change,
                                   shuffler::Permuter* permuter)
    : secret_(sealed::SealingKey::generate().secret_bytes()),
      permuter_(permuter),
      public_key_(sealed::SealingKey::from_secret(secret_).value().public_key()) {
  config_.consortium = certificates.authority().consortium();
  config_.name = name;
  config_.host = "127.0.0.1";
  config_.tls = certificates.party(certificates::Role::Shuffler, name);
  config_.store = folder_.path() / "batches.sqlite";
  config_.connections_max = 64;
  if (change) change(config_);
  running_.emplace(config_, secret_, permuter_);
}

LoopbackShuffler::~LoopbackShuffler() {
  on_thread([](shuffler::ShufflerHost& host) { host.stop(); });
}

void LoopbackShuffler::restart() {
  running_.reset();
  running_.emplace(config_, secret_, permuter_);
}

void LoopbackShuffler::on_thread(const std::function<void(shuffler::ShufflerHost&)>& work) {
  std::promise<void> done;
  boost::asio::post(running_->context, [&] {
    work(running_->host);
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace undertone::tests
