#include "named_data.h"

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include <cstring>

namespace onearena::runtime {

namespace et = ::executorch::runtime;
using ::executorch::extension::FlatTensorDataMap;
using ::executorch::extension::MmapDataLoader;

NamedData::NamedData(const std::vector<NamedDataEntry>& entries, std::string_view file,
                     const std::vector<std::string>& data_files) {
  keys_.reserve(entries.size());  // the keys of `own_` point into it
  for (const NamedDataEntry& entry : entries) {
    keys_.push_back(entry.key);
    own_[keys_.back()] = file.substr(entry.where.offset, entry.where.size_bytes);
  }
  for (const std::string& path : data_files) {
    const auto refuse = [&](et::Error error) {
      throw Error(ErrorKind::kFormat, path + ": cannot be read as .ptd: " + et::to_string(error));
    };
    auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
    if (!loader.ok()) refuse(loader.error());
    DataFile data_file;
    data_file.loader = std::make_unique<MmapDataLoader>(std::move(*loader));
    auto map = FlatTensorDataMap::load(data_file.loader.get());
    if (!map.ok()) refuse(map.error());
    data_file.map = std::make_unique<FlatTensorDataMap>(std::move(*map));
    files_.push_back(std::move(data_file));
  }
}

et::Result<const et::TensorLayout> NamedData::get_tensor_layout(std::string_view key) const {
  if (own_.count(key) != 0) return et::Error::NotImplemented;  // a program records none
  for (const DataFile& file : files_) {
    // asked twice: a result of something constant cannot be moved
    const et::Error error = file.map->get_tensor_layout(key).error();
    if (error != et::Error::NotFound) return file.map->get_tensor_layout(key);
  }
  return et::Error::NotFound;
}

et::Result<et::FreeableBuffer> NamedData::get_data(std::string_view key) const {
  const auto own = own_.find(key);
  if (own != own_.end()) {
    return et::FreeableBuffer(own->second.data(), own->second.size(), nullptr);
  }
  for (const DataFile& file : files_) {
    auto found = file.map->get_data(key);
    if (found.error() != et::Error::NotFound) return found;
  }
  return et::Error::NotFound;
}

et::Error NamedData::load_data_into(std::string_view key, void* buffer, size_t size) const {
  auto found = get_data(key);
  if (!found.ok()) return found.error();
  if (size > found->size()) return et::Error::InvalidArgument;
  if (size > 0) std::memcpy(buffer, found->data(), size);
  return et::Error::Ok;
}

et::Result<uint32_t> NamedData::get_num_keys() const {
  auto count = static_cast<uint32_t>(keys_.size());
  for (const DataFile& file : files_) {
    auto more = file.map->get_num_keys();
    if (!more.ok()) return more.error();
    count += *more;
  }
  return count;
}

et::Result<const char*> NamedData::get_key(uint32_t index) const {
  if (index < keys_.size()) return keys_[index].c_str();
  index -= static_cast<uint32_t>(keys_.size());
  for (const DataFile& file : files_) {
    auto count = file.map->get_num_keys();
    if (!count.ok()) return count.error();
    if (index < *count) return file.map->get_key(index);
    index -= *count;
  }
  return et::Error::InvalidArgument;
}

}  // namespace onearena::runtime
